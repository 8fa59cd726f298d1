"""Forged weight files, which are valid HDF5 with unexpected content, are refused."""

import resource
import sys

import h5py
import numpy as np
import pytest
from published_weights import read

import elu_zoo
from elu_zoo import errors
from elu_zoo.weights import hdf5

MODEL = "mnist_mlp_8x128"


def replace(file, value=None, path="layers/dense_2/vars/1", **options):
    del file[path]
    if value is not None or options:
        file.create_dataset(path, data=value, **options)


def external_link(file):
    replace(file)
    file["layers/dense_2/vars/1"] = h5py.ExternalLink("/etc/passwd", "/x")


def soft_link(file):
    replace(file)
    file["layers/dense_2/vars/1"] = h5py.SoftLink("/layers/dense_1/vars/1")


def external_storage(file):
    replace(file, shape=(13,), dtype="f2", external=[("/etc/passwd", 0, 26)])


def virtual(file):
    replace(file)
    layout = h5py.VirtualLayout((13,), "f2")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", (13,))
    file.create_virtual_dataset("layers/dense_2/vars/1", layout)


def huge_shape(file):
    replace(file)
    space = h5py.h5s.create_simple((2**20, 2**20))
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_LATE)
    group = file["layers/dense_2/vars"].id
    h5py.h5d.create(group, b"1", h5py.h5t.IEEE_F16LE, space, properties)


def no_shape(file):
    replace(file, h5py.Empty("f2"))


def filtered(**options):
    return lambda file: replace(file, np.zeros(13, "f2"), **options)


def value(dtype):
    return lambda file: replace(file, np.zeros(13, dtype))


def strings(file):
    replace(file, ["x"] * 13, dtype=h5py.string_dtype())


def one_value(number):
    values = np.zeros(13, "f2")
    values[5] = number
    return lambda file: replace(file, values)


def extra_group(file):
    file.create_group("layers/dense_20").attrs["name"] = "spy"
    file["layers/dense_20/vars/0"] = np.zeros(3, "f2")


def outside_a_layer(file):
    file["vars/0"] = np.zeros(3, "f2")


def named_array(file):
    file["layers/dense_2/vars/kernel"] = np.zeros(3, "f2")


def missing_layer(file):
    del file["layers/dense_2"]


def deep(file):
    file["layers/a/b/c/d/e/f/g/h/0"] = np.zeros(3, "f2")


def hard_link_cycle(file):
    file["layers/dense_2/vars/again"] = file["layers/dense_2/vars"]


def renamed(key):
    return lambda file: file.move("layers/dense_2/vars/1", f"layers/dense_2/vars/{key}")


def named_layer(name):
    def forge(file):
        file["layers/dense_2"].attrs["name"] = name

    return forge


def many_paths(file):
    low, middle = file.create_group("a"), file.create_group("b")
    for index in range(60):
        low.create_group(str(index))
        middle[str(index)] = low
    for index in range(60):
        file[f"c/{index}"] = middle
        file[f"d/{index}"] = file["c"]


def named_type(file):
    file["layers/dense_2/vars/2"] = np.dtype("f2")


@pytest.mark.parametrize(
    ("forge", "word"),
    [
        (external_link, "link"),
        (soft_link, "link"),
        (external_storage, "another file"),
        (virtual, "another file"),
        (huge_shape, "whole"),
        (no_shape, "cannot be read"),
        (filtered(compression="gzip"), "whole"),
        (filtered(fletcher32=True), "whole"),
        (value("i8"), "floats"),
        (strings, "floats"),
        (one_value(np.nan), "layer dense3 is not finite"),
        (one_value(-np.inf), "layer dense3 is not finite"),
        (extra_group, r"another network. spy: file \[\(3,\)\], model nothing"),
        (outside_a_layer, "outside a layer"),
        (named_array, "outside a layer"),
        (missing_layer, r"dense3: file nothing, model \[\(13, 13\), \(13,\)\]"),
        (deep, "too deep"),
        (hard_link_cycle, "too deep"),
        (many_paths, "too deep"),
        (named_type, "floats"),
        (renamed("7"), "cannot be read"),
        (renamed("01"), "outside a layer"),
        (renamed("\u0661"), "outside a layer"),
        (renamed("1" * 5000), "outside a layer"),
        (renamed("\x1b[2J"), "outside a layer"),
        (named_layer(np.bytes_(b"x" * 60_000)), "short string"),
        (named_layer(3), "short string"),
        (named_layer(["dense3"]), "short string"),
        (named_layer(h5py.Empty("f")), "short string"),
        (named_layer("\x1b[2J"), r"another network. dense3: .*; \ufffd.2J: file"),
    ],
)
def test_forged_files_are_refused(model, path, forge, word):
    with h5py.File(path, "a") as file:
        forge(file)
    refused = errors.CorruptError, errors.UsageError
    with pytest.raises(refused, match=word) as caught:
        read(path, model)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 1000


def test_a_forged_shape_is_refused_with_little_memory(model, path):
    with h5py.File(path, "a") as file:
        huge_shape(file)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(errors.CorruptError):
        read(path, model)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    # The unit of ru_maxrss is a byte on macOS and a kibibyte on Linux.
    assert grown * (1 if sys.platform == "darwin" else 1024) < 1 << 26


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 0.2}, r"dense1: file \[\(784, 26\), .*model .*dense5: [^;]*$"),
        ({"batch_norm": True}, "norm_dense1: file .*model nothing"),
        ({"num_classes": 3}, r"classifier: file \[\(13, 3\), .*model \[\(13, 10\)"),
    ],
)
def test_weights_of_another_network_are_refused(model, tmp_path, arguments, message):
    path = tmp_path / "net.weights.h5"
    other = elu_zoo.get_model(MODEL, **{"width": 0.1, **arguments})
    path.write_bytes(hdf5.write(other))
    with pytest.raises(errors.UsageError, match=f"another network.*{message}"):
        read(path, model)
