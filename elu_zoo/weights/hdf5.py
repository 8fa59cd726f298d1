"""Writing and checked reading of weight files in the layout of Keras.

An array has the path `layers/<class>[_<i>]/vars/<j>`. The attribute `name` of the group `vars`, or
of the group around it, is the name of the layer (see `_stored`). `keras.Model.load_weights` loads
files of `write`, with values of `rounded`, and `read` reads files of `keras.Model.save_weights`.

Only these groups, hard links and contiguous arrays are read: others could take values
from another file or fill the memory. A forged file can still crash or stop the C library
of HDF5, if its hash is not known (see SECURITY.md).
"""

import collections
import io
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from elu_zoo import errors
from elu_zoo.weights import untrusted
from elu_zoo.weights.manifest import SUFFIX

if TYPE_CHECKING:
    import keras

Arrays = dict[str, list[np.ndarray]]
Shapes = dict[str, list[tuple[int, ...]]]

KERAS = ".keras"
_MAGIC = b"\x89HDF\r\n\x1a\n"
_MAX_BYTES = 1 << 32  # the largest weight file of any network
_NAME_BYTES = 1000  # the longest name of a layer


def shapes(model: "keras.Model") -> Shapes:
    """Returns the shapes of the weights by layer name, in the order of the file."""
    return {k: [tuple(v.shape) for v in x.weights] for k, x in _layers(model).items() if x.weights}


def _layers(model: "keras.Model") -> dict[str, "keras.Layer"]:
    return {_stored(layer.name, group): layer for group, layer in _groups(model)}


def _groups(model: "keras.Model") -> "list[tuple[str, keras.Layer]]":
    """Returns the layers of a model, each after its group `<class>[_<i>]` in a file."""
    counts, found = collections.Counter[str](), []
    for layer in model.layers:
        kind = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", type(layer).__name__))
        kind = re.sub("([a-z])([A-Z])", r"\1_\2", kind).lower()
        found.append((f"{kind}_{counts[kind]}".removesuffix("_0"), layer))
        counts[kind] += 1
    return found


def _stored(name: str, group: str) -> str:
    """Returns the name of a layer; its group if Keras chose the name, with a count over models."""
    kind = re.escape(re.sub(r"_\d+$", "", group))
    return group if re.fullmatch(rf"{kind}(_\d+)?", name) else name


def write(model: "keras.Model") -> bytes:
    """Returns the content of a weight file, with values of `rounded`."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file.create_group("vars")
        for name, layer in _groups(model):
            group = file.create_group(f"layers/{name}")
            group.attrs["name"] = _stored(layer.name, name)
            values = group.create_group("vars")
            for index, variable in enumerate(layer.weights):
                value = values[str(index)] = rounded(variable)
                if not np.isfinite(value).all():
                    raise errors.CorruptError(f"{variable.path} is not finite.")
    return buffer.getvalue()


def rounded(variable: "keras.Variable") -> np.ndarray:
    """Returns the values of a variable in float16, or in float32 if one overflows.

    The variances of batch normalisation may be larger than float16 can be.
    """
    value = np.asarray(variable, np.float32)
    with np.errstate(over="ignore"):
        half = value.astype(np.float16)
    return half if np.isfinite(half).all() else value


def read(path: Path, expected: Shapes, sha256: str | None) -> Arrays:
    """Returns the arrays of a weight file by layer name, in float32, after all checks.

    `expected` are the result of `shapes`. Without `sha256` the hash is not verified.
    """
    if path.name.endswith(KERAS):
        content = member(path, "model.weights.h5")
    else:
        content = untrusted.read(path, _MAX_BYTES, "a weight file")
    if sha256 is not None:
        untrusted.check_hash(content, sha256, path)
    try:
        # HDF5 searches the signature in the whole file.
        if not content.startswith(_MAGIC):
            raise ValueError(f"it is not an HDF5 file. Save the model as a {KERAS} file")
        with h5py.File(io.BytesIO(content), "r") as file:
            found = _datasets(file, path)
            _check_shapes({k: [x.shape for x in v] for k, v in found.items()}, expected, path)
            arrays = {k: [x[...].astype(np.float32) for x in v] for k, v in found.items()}
    except (errors.EluZooError, MemoryError):
        raise
    # h5py raises many types of errors for a damaged file.
    except Exception as error:
        reason = errors.printable(str(error), 300)
        raise errors.CorruptError(f"{path} cannot be read: {reason}.") from error
    for name, values in arrays.items():
        if not all(np.isfinite(value).all() for value in values):
            raise errors.CorruptError(f"{path}: a weight of layer {name} is not finite.")
    return arrays


def _check_shapes(stored: Shapes, expected: Shapes, path: Path) -> None:
    """Raises `UsageError` unless the shapes in a file are those of a network."""
    differences = [
        f"{name}: file {stored.get(name, 'nothing')}, model {expected.get(name, 'nothing')}"
        for name in {**expected, **stored}
        if stored.get(name) != expected.get(name)
    ]
    if differences:
        raise errors.UsageError(
            f"{path} holds the weights of another network. "
            f"{errors.printable('; '.join(differences[:5]), 600)}. Pass the network and the "
            "arguments, such as width, whose weights these are."
        )


def assign(model: "keras.Model", arrays: Arrays) -> None:
    """Assigns arrays by layer name. Layers without arrays keep their weights."""
    layers = _layers(model)
    for name, values in arrays.items():
        for variable, value in zip(layers[name].weights, values, strict=True):
            variable.assign(value)


def member(path: Path, name: str) -> bytes:
    """Returns a file in a `.keras` file, which may be forged."""
    packed = untrusted.read(path, _MAX_BYTES, f"a file {KERAS}")
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            # Keras writes stored files. A compressed one can fill the memory.
            if archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{name} is compressed")
            return archive.read(name)
    # zipfile raises errors of many types for damaged files.
    except MemoryError:
        raise
    except Exception as error:
        reason = errors.printable(str(error), 300)
        raise errors.CorruptError(f"{path} is not a file of keras.Model.save: {reason}.") from None


def check_name(path: Path) -> None:
    """Raises `UsageError` for a name of another suffix, such as `.h5`."""
    if not path.name.endswith((SUFFIX, KERAS)):
        raise errors.UsageError(
            f"{path} is not a weight file: its name ends in neither {SUFFIX} nor {KERAS}. "
            f"Pass such a file, or load its model with Keras and save it as a {KERAS} file."
        )


def _datasets(file: h5py.File, path: Path) -> dict[str, list[h5py.Dataset]]:
    """Returns HDF5 datasets by layer name; their values are not read yet."""

    def item(group: h5py.Group, key: str) -> Any:
        if type(group.get(key, getlink=True)) is not h5py.HardLink:
            raise unsafe(f"{group.name}/{key} is missing, or a link.")
        return group[key]

    def unsafe(fault: str) -> errors.CorruptError:
        return errors.CorruptError(f"{path} is unsafe: {errors.printable(fault.lstrip('/'), 200)}")

    datasets = {}
    layers = item(file, "layers")
    for group, layer in ((key, item(layers, key)) for key in layers):
        values = item(layer, "vars") if "vars" in layer else ()
        if not len(values):
            continue
        name = _layer_name(values if "name" in values.attrs else layer)
        if name is None:
            raise unsafe(f"{layer.name} has a name that is not a short string.")
        name = _stored(name, group)
        if set(values) != {str(index) for index in range(len(values))}:
            raise unsafe(f"{values.name} has not the arrays 0, 1, ...")
        datasets[name] = [item(values, str(index)) for index in range(len(values))]
        for dataset in datasets[name]:
            if fault := _fault(dataset):
                raise unsafe(f"{dataset.name} {fault}.")
    return datasets


def _layer_name(group: h5py.Group) -> str | None:
    """Returns the attribute `name` of a group; None unless it is a short string."""
    # A small file can claim an attribute that fills the memory when it is read.
    attribute = group.attrs.get_id("name") if "name" in group.attrs else None
    is_text = attribute and h5py.check_string_dtype(attribute.dtype) and attribute.shape == ()
    if not is_text or attribute.get_storage_size() > _NAME_BYTES:
        return None
    return group.attrs["name"]


def _fault(item: Any) -> str | None:
    """Returns why the values of an array must not be read, or None."""
    if not isinstance(item, h5py.Dataset) or item.dtype.kind != "f":
        return "is not an array of floats"
    if item.is_virtual or item.external:
        return "takes its values from another file"
    # A chunked or compressed array could fill the memory. Keras writes neither kind.
    stored = item.id.get_storage_size()
    if item.chunks or item.id.get_create_plist().get_nfilters() or stored != item.nbytes:
        return "is not stored whole, in one piece"
    return None
