"""Reading of the weight arrays in an HDF5 file that may be forged.

Only groups, hard links and contiguous arrays are accepted. Soft and external links,
arrays stored in other files, compressed and chunked arrays, arrays without stored
values, and files with more objects or levels than a model needs are refused.
"""

import itertools
import re
from pathlib import Path

import h5py
import numpy as np

from elu_zoo import errors
from elu_zoo.weights.untrusted import printable

Arrays = dict[str, list[np.ndarray]]
Shapes = dict[str, list[tuple[int, ...]]]

_DTYPES = (np.float16, np.float32, np.float64)
_LEVELS = 7  # Keras needs 5, and 2 more for a model in a model
_OBJECTS = 100_000  # the limit if the network is not known
_INDEX = re.compile(r"0|[1-9][0-9]{0,3}")
_NAME_BYTES = 1000  # the longest name of a layer


def parse(file: h5py.File, expected: Shapes, path: Path) -> Arrays:
    """Returns the arrays of each layer in float32, after every check.

    Args:
        file: the HDF5 file, open for reading.
        expected: the expected shapes by layer name.
        path: the path of the file, for messages.
    """
    # 20 objects for an array and its groups, 1000 for layers without weights.
    limit = 1000 + 20 * sum(map(len, expected.values()))
    datasets = _datasets(file, path, limit)
    check_shapes(_shapes(datasets), expected, path)
    arrays = {}
    for name, items in datasets.items():
        if sorted(items) != list(range(len(items))):
            raise errors.CorruptError(
                f"{path} holds weights {', '.join(map(str, sorted(items)))} of layer "
                f"{name}; 0 to {len(items) - 1} are expected."
            )
        arrays[name] = [items[i][...].astype(np.float32) for i in range(len(items))]
        for index, value in enumerate(arrays[name]):
            if not np.isfinite(value).all():
                raise errors.CorruptError(f"{path}: weight {index} of layer {name} is not finite.")
    return arrays


def check_shapes(sizes: Shapes, expected: Shapes, path: Path) -> None:
    """Raises `UsageError` unless the shapes in a file are those of a network."""
    if sizes != expected:
        raise errors.UsageError(
            f"{path} holds the weights of another network. "
            f"{'; '.join(_differences(sizes, expected))}. Pass the network and the "
            "arguments, such as width, whose weights these are."
        )


def shapes(file: h5py.File, path: Path) -> Shapes:
    """Returns the shapes of the arrays of each layer, see `parse`."""
    return _shapes(_datasets(file, path, _OBJECTS))


def _shapes(datasets: dict[str, dict[int, h5py.Dataset]]) -> Shapes:
    return {
        name: [tuple(items[i].shape) for i in sorted(items)] for name, items in datasets.items()
    }


def _differences(sizes: Shapes, expected: Shapes) -> list[str]:
    differing = [n for n in expected if sizes.get(n) != expected[n]]
    differing += [n for n in sizes if n not in expected]
    return [
        f"{printable(n)}: file {_text(sizes.get(n))}, model {_text(expected.get(n))}"
        for n in differing[:5]
    ]


def _text(shapes: list | None) -> str:
    if shapes is None:
        return "nothing"
    return str(shapes) if len(shapes) <= 8 else f"{len(shapes)} weights"


def _datasets(file: h5py.File, path: Path, limit: int) -> dict[str, dict[int, h5py.Dataset]]:
    """Returns HDF5 datasets by layer name and index; their values are not read yet."""
    datasets: dict[str, dict[int, h5py.Dataset]] = {}
    visited = itertools.count(1)

    def visit(group: h5py.Group, layer: str | None, level: int) -> None:
        for key in group:
            if level == 0 and key == "optimizer":
                continue  # Keras saves the optimizer of a compiled model.
            location = printable(f"{group.name}/{key}".replace("//", "/"))
            prefix = f"{path} is unsafe: {location}"
            if type(group.get(key, getlink=True)) is not h5py.HardLink:
                raise errors.CorruptError(f"{prefix} is a link.")
            if level == _LEVELS:
                raise errors.CorruptError(
                    f"{prefix} is more than {_LEVELS} levels deep, or in a cycle."
                )
            if next(visited) > limit:
                raise errors.CorruptError(f"{path} is unsafe: it has more than {limit} objects.")
            item = group[key]
            if isinstance(item, h5py.Group):
                visit(item, _layer_name(item, prefix) or layer, level + 1)
                continue
            _check_dataset(item, prefix)
            if layer is None or not _INDEX.fullmatch(key):
                raise errors.CorruptError(f"{path} holds {location}, outside a layer.")
            items = datasets.setdefault(layer, {})
            if int(key) in items:
                raise errors.CorruptError(
                    f"{path} holds weight {key} of layer {printable(layer)} twice."
                )
            items[int(key)] = item

    visit(file, None, 0)
    return datasets


def _layer_name(group: h5py.Group, prefix: str) -> str | None:
    """Returns the attribute `name` of a group; None if the attribute is missing."""
    if "name" not in group.attrs:
        return None
    attribute = group.attrs.get_id("name")
    # A small file can claim an attribute that fills the memory when it is read.
    is_text = h5py.check_string_dtype(attribute.dtype) and attribute.shape == ()
    if not is_text or attribute.get_storage_size() > _NAME_BYTES:
        raise errors.CorruptError(f"{prefix} has a name that is not a short string.")
    name = group.attrs["name"]
    if isinstance(name, bytes | np.bytes_):
        name = name.decode()
    if not 0 < len(name) <= _NAME_BYTES:
        raise errors.CorruptError(f"{prefix} has a name that is not a short string.")
    return name


def _check_dataset(item, prefix: str) -> None:
    if not isinstance(item, h5py.Dataset):
        raise errors.CorruptError(f"{prefix} is not an array.")
    if item.is_virtual or item.external:
        raise errors.CorruptError(f"{prefix} takes its values from another file.")
    # A chunked or compressed array could fill the memory. Keras writes neither kind.
    if item.chunks or item.id.get_create_plist().get_nfilters():
        raise errors.CorruptError(
            f"{prefix} is stored in chunks or compressed; it must be contiguous."
        )
    if item.dtype not in _DTYPES:
        raise errors.CorruptError(
            f"{prefix} is {item.dtype}; float16, float32 or float64 is expected."
        )
    if item.shape is None:
        raise errors.CorruptError(f"{prefix} has no shape.")
    stored = item.id.get_storage_size()
    if stored != item.nbytes:
        raise errors.CorruptError(
            f"{prefix} of shape {item.shape} stores {stored} bytes; {item.nbytes} are expected."
        )
