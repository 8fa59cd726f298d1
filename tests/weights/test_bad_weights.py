"""Refusal of bad weight files by `get_model`."""

import os

import h5py
import numpy as np
import published_weights as made_weights
import pytest
from spoiling import beside, check_refused

import elu_zoo
from elu_zoo import errors

MODEL = made_weights.MODEL
UNVERIFIED = {"width": made_weights.WIDTH, "allow_unverified": True}
NOT_FOUND, USAGE, CORRUPT = errors.NotFoundError, errors.UsageError, errors.CorruptError
RESOURCE = errors.ResourceError


# Each function spoils good weights; it may return another path to load.


def misspelled(path):
    return path.with_name(path.name.replace("elu-", "elo-"))


def without_file(path):
    path.unlink()


def folder(path):
    path.unlink()
    beside(path).unlink()
    path.mkdir()


def fifo(path):
    path.unlink()
    os.mkfifo(path)


def truncated(path):
    os.truncate(path, 1000)


def huge(path):
    os.truncate(path, 1 << 40)


def one_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def without_entry(path):
    beside(path).unlink()


def with_nan(path):
    beside(path).unlink()
    with h5py.File(path, "a") as file:
        file["layers/dense_2/vars/1"][...] = np.nan


def of_relu(path):
    """Writes weights of equal shapes and another hash."""
    path.write_bytes(made_weights.make(activation="relu")[1])


def link_out(path):
    target = path.parent.parent / path.name
    path.rename(target)
    path.symlink_to(target)


def keras_file(path):
    other = path.with_name("net.keras")
    other.write_bytes(b"PK")
    return other


ROWS = {
    "missing": (misspelled, {}, NOT_FOUND, "no file .*elo-.*Did you mean .*elu-.*Weig"),
    "an entry without its file": (without_file, {}, NOT_FOUND, "no file .*run"),
    "an unknown user": (lambda path: "~nobody_/x.weights.h5", {}, RESOURCE, "home dir"),
    "a long name": (lambda path: f"/{'x' * 999}.weights.h5", {}, RESOURCE, "too long"),
    "a missing folder": (
        lambda path: "/no/x.weights.h5", {}, NOT_FOUND, "Weights in /no: none"
    ),
    "a zero byte": (lambda path: "/x\0.weights.h5", {}, NOT_FOUND, "There is no file"),
    "a folder": (folder, {}, USAGE, "is a folder with 0 weight files; expected the"),
    "a named pipe": (fifo, {}, CORRUPT, "not a regular file: it is a named pipe"),
    "truncated": (truncated, {}, CORRUPT, r"1000 bytes, but its entry states \d+. Del"),
    "a terabyte": (huge, {}, CORRUPT, r"is 1099511627776 bytes; .*at most \d+"),
    "one bit": (one_bit, {}, CORRUPT, "is [0-9a-f]{64}, expected [0-9a-f]{64}. Delete"),
    "another activation": (of_relu, {}, CORRUPT, "damaged or another file: its SHA"),
    "NaN": (with_nan, UNVERIFIED, CORRUPT, "weight 1 of layer dense3 is not finite"),
    "a .keras file": (keras_file, UNVERIFIED, CORRUPT, "does not end in .weights.h5"),
    "a link out of the folder": (link_out, {}, CORRUPT, "is a link out of its folder"),
    "a name with a folder": (lambda path: "../mnist", {}, NOT_FOUND, "file ../mnist"),
    "no entry": (without_entry, {}, CORRUPT, "no entry .* beside it.*allow_unver"),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_bad_weight_files_are_refused(run, home, monkeypatch, row):
    check_refused(run, home, monkeypatch, ROWS[row])


def test_good_weights_are_loaded(run, made_run):
    found = elu_zoo.get_model(MODEL, weights=run)
    for value, exact in zip(
        found.get_weights(), made_run[2].get_weights(), strict=True
    ):
        np.testing.assert_array_equal(value, exact.astype(np.float16))
