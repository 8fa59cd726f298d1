"""Damaged weight files, and valid HDF5 files with unexpected content, are refused."""

import os
import tracemalloc

import h5py
import numpy as np
import pytest
from published_weights import read

import elu_zoo
from elu_zoo import errors, files
from elu_zoo.weights import hdf5

CORRUPT, USAGE, RESOURCE = errors.CorruptError, errors.UsageError, errors.ResourceError
BIAS = "layers/dense_2/vars/1"


def link_to(target):
    def damage(path):
        path.unlink()
        path.symlink_to(target)

    return damage


def put(content):
    return lambda path: path.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "kind", "word"),
    [
        (put(b""), CORRUPT, "is not an HDF5 file"),
        (put(b"PK\x03\x04" * 9), CORRUPT, "is not an HDF5 file"),
        (put(hdf5._MAGIC), CORRUPT, "cannot be read"),
        (lambda path: os.truncate(path, path.stat().st_size // 2), CORRUPT, "cannot be read"),
        (lambda path: os.truncate(path, 1 << 33), CORRUPT, "is 8589934592 bytes"),
        (link_to("/dev/zero"), CORRUPT, "is not a regular file"),
        (link_to("net.weights.h5"), RESOURCE, "cannot be read"),
    ],
)
def test_files_that_are_not_weight_files_are_refused(model, path, damage, kind, word):
    damage(path)
    with pytest.raises(kind, match=word):
        read(path, model)


def test_the_bytes_that_were_hashed_are_parsed(model, content, path, monkeypatch):
    expected, sha256 = read(path, model), files.sha256(content)
    monkeypatch.setattr(files, "sha256", lambda data: path.write_bytes(b"another") and sha256)
    np.testing.assert_equal(read(path, model, sha256), expected)
    assert path.read_bytes() == b"another"


def test_a_file_that_grows_after_its_check_is_refused(model, path, monkeypatch):
    fdopen = os.fdopen

    def grow(*arguments):
        os.truncate(path, 1 << 33)
        return fdopen(*arguments)

    monkeypatch.setattr(os, "fdopen", grow)
    with pytest.raises(CORRUPT, match="at most"):
        read(path, model)


def test_another_suffix_is_refused(path):
    with pytest.raises(USAGE, match="name ends in neither"):
        elu_zoo.get_model("mnist_mlp_8x128", weights=path.rename(path.with_name("net.h5")))


def bias(value=None, **options):
    """Returns a function that replaces the array BIAS."""

    def forge(file):
        del file[BIAS]
        if isinstance(value, h5py.SoftLink | h5py.ExternalLink):
            file[BIAS] = value
        else:
            file.create_dataset(BIAS, data=value, **options)

    return forge


def virtual(file):
    del file[BIAS]
    layout = h5py.VirtualLayout((13,), "f2")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", (13,))
    file.create_virtual_dataset(BIAS, layout)


def huge_shape(file):
    """Declares a terabyte that is not stored."""
    del file[BIAS]
    space = h5py.h5s.create_simple((2**20, 2**20))
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_LATE)
    h5py.h5d.create(file.id, BIAS.encode(), h5py.h5t.IEEE_F16LE, space, properties)


def extra_layer(file):
    file.create_group("layers/dense_20").attrs["name"] = "spy"
    file["layers/dense_20/vars/0"] = np.zeros(3, "f2")


def add(path, value=None):
    return lambda file: file.update({path: np.zeros(3, "f2") if value is None else value(file)})


def replaced(value):
    def forge(file):
        del file[BIAS]
        file[BIAS] = value(file)

    return forge


def moved(key):
    return lambda file: file.move(BIAS, f"layers/dense_2/vars/{key}")


def named(name):
    return lambda file: file["layers/dense_2"].attrs.update(name=name)


ZEROS = np.zeros(13, "f2")
ELSEWHERE = {"shape": (13,), "dtype": "f2", "external": [("/etc/passwd", 0, 26)]}


@pytest.mark.parametrize(
    ("forge", "word"),
    [
        (bias(h5py.ExternalLink("/etc/passwd", "/x")), "link"),
        (bias(h5py.SoftLink("/layers/dense_1/vars/1")), "link"),
        (bias(**ELSEWHERE), "another file"),
        (virtual, "another file"),
        (huge_shape, "whole"),
        (bias(h5py.Empty("f2")), "another network. dense3: "),
        (bias(ZEROS, compression="gzip"), "whole"),
        (bias(ZEROS, fletcher32=True), "whole"),
        (bias(np.zeros(13, "i8")), "floats"),
        (bias(["x"] * 13, dtype=h5py.string_dtype()), "floats"),
        (replaced(lambda file: np.dtype("f2")), "floats"),
        (replaced(lambda file: file["layers"]), "floats"),
        (bias(ZEROS + np.nan), "layer dense3 is not finite"),
        (extra_layer, r"another network. spy: file \[\(3,\)\], model nothing"),
        (lambda file: file.pop("layers/dense_2"), r"dense3: file nothing, model \["),
        (lambda file: file.pop("layers"), "layers is missing, or a link"),
        (add("layers/dense_2/vars/kernel"), "not the arrays"),
        (add("layers/dense_2/vars/again", lambda file: file["layers"]), "not the arrays"),
        (moved("1" * 5000), "not the arrays"),
        (moved("\x1b[2J"), "not the arrays"),
        (moved("7"), "not the arrays"),
        (named(np.bytes_(b"x" * 60_000)), "short string"),
        (named(3), "short string"),
        (named(["dense3"]), "short string"),
        (named(h5py.Empty("f")), "short string"),
        (named("\x1b[2J"), r"another network. dense3: .*; \ufffd.2J: file"),
    ],
)
def test_forged_files_are_refused_with_little_memory(model, path, forge, word):
    with h5py.File(path, "a") as file:
        forge(file)
    tracemalloc.start()
    with pytest.raises((CORRUPT, USAGE), match=word) as caught:
        read(path, model)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 26
    assert str(caught.value).isprintable() and len(str(caught.value)) < 1000


def test_what_is_outside_of_the_arrays_of_layers_is_not_read(model, path):
    expected = read(path, model)
    with h5py.File(path, "a") as file:
        file["layers/dense_2/again"] = file["layers"]
        for place in ("vars/0", "optimizer/vars/0", "layers/a/b/vars/0"):
            file[place] = h5py.ExternalLink("/etc/passwd", "/x")
    np.testing.assert_equal(read(path, model), expected)


def test_weights_of_another_network_are_refused(model, path):
    path.write_bytes(hdf5.write(elu_zoo.get_model("mnist_mlp_8x128", width=0.2)))
    with pytest.raises(USAGE, match=r"dense1: file \[\(784, 26\), .*model .*dense5: [^;]*$"):
        read(path, model)
