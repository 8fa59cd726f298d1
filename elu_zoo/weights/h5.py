"""Weight files in Keras' own layout, read as if an enemy had written them.

`layers/<class>[_<i>]/vars/<j>`, the layer's name as an attribute of its group: a
file written here loads with `keras.Model.load_weights`, and one written by
`keras.Model.save_weights` is read here. Values are float16.
"""

import collections
import io
import itertools
import math
import os
import re
import stat
from pathlib import Path

import h5py
import keras
import numpy as np

from elu_zoo import errors, files
from elu_zoo.weights.entries import SUFFIX

_MAGIC = b"\x89HDF\r\n\x1a\n"
_OTHER_FORMATS = (
    ".keras .h5 .hdf5 .npz .npy .pkl .pickle .pt .pth .ckpt .zip .tar .gz .tflite "
    ".onnx .safetensors"
).split()
_DTYPES = (np.float16, np.float32)
_OVERHEAD_BYTES = 4 << 20  # of groups and attributes, generously
_LIMIT_OBJECTS = 10_000

Arrays = dict[str, list[np.ndarray]]


def shapes(model: keras.Model) -> dict[str, list[tuple[int, ...]]]:
    """Returns the shapes of each layer's weights by layer name, in file order."""
    return {
        layer.name: [tuple(v.shape) for v in layer.weights]
        for layer in model.layers
        if layer.weights
    }


def write(model: keras.Model) -> bytes:
    """Returns a weight file of `model` with float16 values.

    Raises:
        CorruptError: a weight is not finite, or too large for float16.
    """
    buffer = io.BytesIO()
    counts = collections.Counter()
    with h5py.File(buffer, "w") as file:
        file.create_group("vars")
        for layer in model.layers:
            kind = _snake_case(type(layer).__name__)
            number = counts[kind]
            counts[kind] += 1
            group = file.create_group(f"layers/{kind}_{number}".removesuffix("_0"))
            group.attrs["name"] = layer.name
            values = group.create_group("vars")
            for index, variable in enumerate(layer.weights):
                with np.errstate(over="ignore"):
                    value = np.asarray(variable).astype(np.float16)
                if not np.isfinite(value).all():
                    raise errors.CorruptError(
                        f"{variable.path} is not finite in float16; not written."
                    )
                values[str(index)] = value
    return buffer.getvalue()


def read(
    path: Path,
    expected: dict[str, list[tuple[int, ...]]],
    sha256: str | None,
    remedy: str = "Delete it and get it again.",
) -> Arrays:
    """Reads a weight file after every check; nothing of it is used before.

    Args:
        path: a regular file named `*.weights.h5`.
        expected: what `shapes` says of the model that will take the weights.
        sha256: the hash that the file must have; None leaves it unverified.
        remedy: what to do about a file of another hash.

    Returns:
        The arrays of each layer, by layer name.

    Raises:
        NotFoundError: there is no such file.
        CorruptError: anything about the file is not as it should be.
    """
    values = sum(math.prod(shape) for layer in expected.values() for shape in layer)
    # Four times float32: optimizer slots in a file of Keras' own are no offence.
    content = _read_once(path, limit=4 * 4 * values + _OVERHEAD_BYTES)
    if sha256 is not None:
        found = files.sha256(content)
        if found != sha256:
            raise errors.CorruptError(
                f"{path} is damaged or another file: its SHA-256 is {found}, "
                f"expected {sha256} ({len(content)} bytes). {remedy}"
            )
    if not content.startswith(_MAGIC):
        raise errors.CorruptError(f"{path} is not an HDF5 file.")
    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            return _parse(file, expected, path)
    except errors.EluZooError:
        raise
    # h5py raises whatever its C library's state suggests; all mean the same here.
    except Exception as error:
        raise errors.CorruptError(f"{path} cannot be read: {error}.") from error


def assign(model: keras.Model, arrays: Arrays) -> None:
    """Gives `model` the arrays of the layers that it shares with them."""
    for layer in model.layers:
        if layer.name in arrays:
            for variable, value in zip(layer.weights, arrays[layer.name], strict=True):
                variable.assign(value)


def _snake_case(name: str) -> str:
    # Keras names the groups of its files so.
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def check_name(path: Path) -> None:
    """Refuses a file of another format by its name.

    Raises:
        CorruptError: the name does not end in `.weights.h5`.
    """
    if not path.name.endswith(SUFFIX):
        other = next((s for s in _OTHER_FORMATS if path.name.endswith(s)), None)
        reason = f" {other} files are not read." if other else ""
        raise errors.CorruptError(
            f"{path} is no weight file: its name does not end in {SUFFIX}.{reason}"
        )


def _read_once(path: Path, limit: int) -> bytes:
    check_name(path)
    if path.is_symlink() and path.resolve().parent != path.parent.resolve():
        raise errors.CorruptError(
            f"{path} is a link out of its folder, to {path.resolve()}. Name that "
            "file itself."
        )
    try:
        # O_NONBLOCK: a named pipe must not make us wait for a writer.
        others = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(path, os.O_RDONLY | others)
    except FileNotFoundError:
        raise not_found(path) from None
    except OSError as error:
        raise errors.ResourceError(f"{path} cannot be read: {error}.") from None
    # Before fdopen, which raises errors of its own for a directory.
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise errors.CorruptError(f"{path} is not a regular file.")
    with os.fdopen(descriptor, "rb") as file:
        if status.st_size > limit:
            raise errors.CorruptError(
                f"{path} is {status.st_size} bytes; weights of this network take at "
                f"most {limit}."
            )
        return file.read()


def not_found(path: Path) -> errors.NotFoundError:
    """Returns the error for a path that does not exist, with its neighbours."""
    folder = path.parent
    names = sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []
    near = [name for name in names if name.endswith(SUFFIX)]
    return errors.NotFoundError(
        f"There is no file {path}. {errors.did_you_mean(path.name, names)}"
        f"Weights in {folder}: {', '.join(near) or 'none'}."
    )


def _parse(file: h5py.File, expected, path: Path) -> Arrays:
    found: dict[str, dict[int, h5py.Dataset]] = {}
    visited = itertools.count(1)

    def visit(group: h5py.Group, layer: str | None, depth: int) -> None:
        for key in group:
            if depth == 0 and key == "optimizer":
                continue  # Keras adds it to the file of a compiled model.
            link = group.get(key, getlink=True)
            item = group.get(key) if type(link) is h5py.HardLink else None
            where = f"{group.name}/{key}".replace("//", "/")
            if item is None or depth > 4:
                raise errors.CorruptError(f"{path} is unsafe: {where} is a link.")
            if next(visited) > _LIMIT_OBJECTS:
                raise errors.CorruptError(
                    f"{path} is unsafe: it has more than {_LIMIT_OBJECTS} objects."
                )
            if isinstance(item, h5py.Group):
                name = item.attrs.get("name", layer)
                visit(item, name if isinstance(name, str) else layer, depth + 1)
                continue
            _check_dataset(item, f"{path} is unsafe: {where}")
            if layer is None or not key.isdigit():
                raise errors.CorruptError(f"{path} holds {where}, of no layer.")
            items = found.setdefault(layer, {})
            if int(key) in items:
                raise errors.CorruptError(
                    f"{path} holds weight {int(key)} of layer {layer} twice."
                )
            items[int(key)] = item

    visit(file, None, 0)
    sizes = {n: [tuple(v[i].shape) for i in sorted(v)] for n, v in found.items()}
    if sizes != expected:
        differing = [n for n in expected if sizes.get(n) != expected[n]]
        differing += [n for n in sizes if n not in expected]
        lines = [
            f"{n}: file {sizes.get(n, 'nothing')}, model {expected.get(n, 'nothing')}"
            for n in differing[:5]
        ]
        raise errors.CorruptError(
            f"{path} holds the weights of another network. {'; '.join(lines)}."
        )
    arrays = {}
    for name, items in found.items():
        arrays[name] = [items[index][...].astype(np.float32) for index in sorted(items)]
        for index, value in enumerate(arrays[name]):
            if not np.isfinite(value).all():
                raise errors.CorruptError(
                    f"{path}: weight {index} of layer {name} is not finite."
                )
    return arrays


def _check_dataset(item, problem: str) -> None:
    if not isinstance(item, h5py.Dataset):
        raise errors.CorruptError(f"{problem} is no array.")
    if item.is_virtual or item.external:
        raise errors.CorruptError(f"{problem} takes its values from another file.")
    # Neither Keras nor elu_zoo stores so, and a small file could fill the memory.
    if item.chunks or item.id.get_create_plist().get_nfilters():
        raise errors.CorruptError(
            f"{problem} is stored in chunks or compressed; plain storage is expected."
        )
    if item.dtype not in _DTYPES:
        raise errors.CorruptError(
            f"{problem} is {item.dtype}; float16 or float32 is expected."
        )
