"""Damaged weight files, and files of other formats, are refused."""

import hashlib
import os
import pickle
import socket

import numpy as np
import pytest
from published_weights import read

from elu_zoo import errors, files
from elu_zoo.weights.hdf5 import weight_file

# What is no file of weights at all.


def directory(path):
    path.unlink()
    path.mkdir()


def fifo(path):
    path.unlink()
    os.mkfifo(path)


def link_out(path):
    (path.parent / "folder").mkdir()
    path.rename(path.parent / "folder" / path.name)
    path.symlink_to(path.parent / "folder" / path.name)


def socket_(path):
    path.unlink()
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))  # an absolute path may be too long for it


def link_to(target):
    def damage(path):
        path.unlink()
        path.symlink_to(target)

    return damage


def user_block(path):
    """HDF5 allows anything before the file itself, an archive for instance."""
    path.write_bytes(b"any".ljust(512, b"\0") + path.read_bytes())


def put(content):
    return lambda path: path.write_bytes(content)


def zeroed(path):
    path.write_bytes(bytes(path.stat().st_size))


def huge(path):
    os.truncate(path, 100_000_000)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (directory, "is not a regular file: it is a folder"),
        (fifo, "is not a regular file: it is a named pipe"),
        (link_out, "is a link out of its folder, to .*folder/net"),
        (put(b""), "is not an HDF5 file: it is empty. Expected is a file .weights.h5"),
        (zeroed, "is not an HDF5 file but zeros at its start. Expected"),
        (socket_, "is not a regular file: it is a socket"),
        (link_to("/dev/zero"), "is a link out of its folder, to /dev/zero"),
        (put(b"PK\x03\x04" * 9), "not an HDF5 file but a ZIP archive, as .keras.*Expe"),
        (put(b"\x1f\x8b" * 9), "not an HDF5 file but compressed by gzip. Expected is"),
        (
            put(pickle.dumps([1])),
            "not an HDF5 file but a pickle. Expected is a file .we",
        ),
        (put(bytes(257) + b"ustar"), "not an HDF5 file but a tar archive. Expected"),
        (
            put(b"\x93NUMPY" * 9),
            "not an HDF5 file but an .npy file. Expected is a file",
        ),
        (user_block, "is not an HDF5 file. Expected"),
        (put(weight_file._MAGIC), "cannot be read"),
        (huge, "is 100000000 bytes; a weight file of this network has at most"),
    ],
)
def test_no_file_of_weights(model, path, damage, message):
    damage(path)
    with pytest.raises(errors.CorruptError, match=message):
        read(path, model)


def test_a_link_within_the_folder(model, path):
    link = path.with_name("latest.weights.h5")
    link.symlink_to(path)
    assert read(link, model)


def test_a_link_to_itself(model, path):
    link_to(path)(path)
    with pytest.raises(errors.ResourceError, match="net.weights.h5 cannot be read"):
        read(path, model)


def test_what_is_checked_is_what_is_read(model, content, path, monkeypatch):
    """Another file takes its place as soon as its hash is known to be right."""
    expected = read(path, model)

    def replace(data):
        path.write_bytes(b"another")
        return hashlib.sha256(data).hexdigest()

    monkeypatch.setattr(files, "sha256", replace)
    found = read(path, model, hashlib.sha256(content).hexdigest())
    assert path.read_bytes() == b"another"
    np.testing.assert_equal(found, expected)


def test_a_file_that_grows(model, content, path, monkeypatch):
    """After its size is known, and before it is read."""
    fdopen = os.fdopen

    def grow(*arguments):
        os.truncate(path, 100_000_000)
        return fdopen(*arguments)

    monkeypatch.setattr(os, "fdopen", grow)
    with pytest.raises(errors.CorruptError, match="a weight file of .* at most"):
        read(path, model)


def test_missing(model, tmp_path, path):
    with pytest.raises(
        FileNotFoundError, match="mean 'net.weights.h5'.*: net.weights.h5"
    ):
        read(tmp_path / "met.weights.h5", model)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable(model, path):
    path.chmod(0)
    with pytest.raises(errors.ResourceError, match="cannot be read"):
        read(path, model)


@pytest.mark.parametrize("suffix", [*weight_file._OTHER_FORMATS, ".bin", ""])
def test_suffix(model, path, suffix):
    other = path.rename(path.with_name("net" + suffix))
    reason = "its name does not end in .weights.h5."
    if suffix in weight_file._OTHER_FORMATS:
        reason += f" {suffix} files are not read, only a file .weights.h5, as .*"
    with pytest.raises(errors.CorruptError, match=reason + "$"):
        read(other, model)


# What is no longer the file that was published.


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("hashed", [False, True])
def test_truncated(model, content, path, share, hashed):
    path.write_bytes(content[: int(share * len(content))])
    message = "damaged or another file" if hashed else "cannot be read|not an HDF5"
    with pytest.raises(errors.CorruptError, match=message):
        read(path, model, files.sha256(content) if hashed else None)
