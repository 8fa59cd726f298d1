"""Damaged weight files and files of other formats are refused."""

import hashlib
import os

import numpy as np
import pytest
from published_weights import read

from elu_zoo import errors, files
from elu_zoo.weights import hdf5


def link_to(target):
    def damage(path):
        path.unlink()
        path.symlink_to(target)

    return damage


def user_block(path):
    """Puts a user block before the file, which HDF5 allows."""
    path.write_bytes(b"any".ljust(512, b"\0") + path.read_bytes())


def put(content):
    return lambda path: path.write_bytes(content)


def huge(path):
    os.truncate(path, 100_000_000)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (put(b""), "is not an HDF5 file. Expected: a file .weights.h5, as elu_zoo's"),
        (link_to("/dev/zero"), "is a link out of its folder, to /dev/zero"),
        (put(b"PK\x03\x04" * 9), "is not an HDF5 file. Expected"),
        (user_block, "is not an HDF5 file. Expected"),
        (put(hdf5._MAGIC), "cannot be read"),
        (huge, "is 100000000 bytes; a weight file of this network has at most"),
    ],
)
def test_files_that_are_not_weight_files_are_refused(model, path, damage, message):
    damage(path)
    with pytest.raises(errors.CorruptError, match=message):
        read(path, model)


def test_a_link_inside_the_folder_is_followed(model, path):
    link = path.with_name("latest.weights.h5")
    link.symlink_to(path)
    assert read(link, model)


def test_a_link_to_itself_is_refused(model, path):
    link_to(path)(path)
    with pytest.raises(errors.ResourceError, match="net.weights.h5 cannot be read"):
        read(path, model)


def test_the_bytes_that_were_hashed_are_parsed(model, content, path, monkeypatch):
    expected = read(path, model)

    def replace(data):
        path.write_bytes(b"another")
        return hashlib.sha256(data).hexdigest()

    monkeypatch.setattr(files, "sha256", replace)
    arrays = read(path, model, hashlib.sha256(content).hexdigest())
    assert path.read_bytes() == b"another"
    np.testing.assert_equal(arrays, expected)


def test_a_file_that_grows_after_its_check_is_refused(model, path, monkeypatch):
    fdopen = os.fdopen

    def grow(*arguments):
        os.truncate(path, 100_000_000)
        return fdopen(*arguments)

    monkeypatch.setattr(os, "fdopen", grow)
    with pytest.raises(errors.CorruptError, match="a weight file of .* at most"):
        read(path, model)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_refused(model, path):
    path.chmod(0)
    with pytest.raises(errors.ResourceError, match="cannot be read"):
        read(path, model)


@pytest.mark.parametrize("suffix", [".h5", ".weights.json", ""])
def test_another_suffix_is_refused(model, path, suffix):
    other = path.rename(path.with_name("net" + suffix))
    with pytest.raises(
        errors.UsageError,
        match="name ends in neither .weights.h5 nor .keras. Expected: a file .weights",
    ):
        read(other, model)


@pytest.mark.parametrize("fraction", [0.01, 0.5, 0.999])
@pytest.mark.parametrize("hashed", [False, True])
def test_a_truncated_file_is_refused(model, content, path, fraction, hashed):
    path.write_bytes(content[: int(fraction * len(content))])
    message = "damaged or another file" if hashed else "cannot be read|not an HDF5"
    with pytest.raises(errors.CorruptError, match=message):
        read(path, model, files.sha256(content) if hashed else None)
