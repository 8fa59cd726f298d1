"""Weight files that are none, or no longer what was published."""

import os

import numpy as np
import pytest
from published_weights import read

from elu_zoo import errors, files
from elu_zoo.weights import h5

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


def put(content):
    return lambda path: path.write_bytes(content)


def zeroed(path):
    path.write_bytes(bytes(path.stat().st_size))


def huge(path):
    os.truncate(path, 100_000_000)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (directory, "is not a regular file"),
        (fifo, "is not a regular file"),
        (link_out, "is a link out of its folder, to .*folder/net"),
        (put(b""), "is not an HDF5 file"),
        (zeroed, "is not an HDF5 file"),
        (put(b"PK\x03\x04" * 9), "is not an HDF5 file"),
        (put(h5._MAGIC), "cannot be read"),
        (huge, "is 100000000 bytes; weights of this network take at most"),
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


@pytest.mark.parametrize("suffix", [*h5._OTHER_FORMATS, ".bin", ""])
def test_suffix(model, path, suffix):
    other = path.rename(path.with_name("net" + suffix))
    reason = "its name does not end in .weights.h5."
    if suffix in h5._OTHER_FORMATS:
        reason += f" {suffix} files are not read."
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


def test_one_flipped_bit(model, content, path):
    rng = np.random.default_rng(0)
    sha256 = files.sha256(content)
    expected = h5.shapes(model)
    # Most bits are values: every second one is taken from the metadata at the start.
    ends = [len(content), 4096]
    refused = 0
    for round_ in range(60):
        place, bit = int(rng.integers(ends[round_ % 2])), int(rng.integers(8))
        damaged = bytearray(content)
        damaged[place] ^= 1 << bit
        path.write_bytes(damaged)
        with pytest.raises(
            errors.CorruptError, match=f"is [0-9a-f]*, expected {sha256}"
        ):
            read(path, model, sha256)
        try:
            arrays = read(path, model)
        except errors.CorruptError:
            refused += 1
            continue
        assert {n: [v.shape for v in vs] for n, vs in arrays.items()} == expected
        assert all(np.isfinite(v).all() for values in arrays.values() for v in values)
    assert refused
