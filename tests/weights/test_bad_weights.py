"""`get_model` refuses bad weight files."""

import os

import h5py
import numpy as np
import published_weights as made_weights
import pytest
from spoiling import check_refused, entry_path

import elu_zoo
from elu_zoo import errors

MODEL = made_weights.MODEL
UNVERIFIED = {"width": made_weights.WIDTH, "allow_unverified": True}
NOT_FOUND, USAGE, CORRUPT = errors.NotFoundError, errors.UsageError, errors.CorruptError
RESOURCE = errors.ResourceError


# Each function spoils good weights. Some functions return another path to load.
def misspell(path):
    return path.with_name(path.name.replace("elu-", "elo-"))


def delete_file(path):
    path.unlink()


def make_folder(path):
    path.unlink()
    entry_path(path).unlink()
    path.mkdir()


def make_pipe(path):
    path.unlink()
    os.mkfifo(path)


def truncate(path):
    os.truncate(path, 1000)


def extend(path):
    os.truncate(path, 1 << 40)


def flip_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def write_nan(path):
    entry_path(path).unlink()
    with h5py.File(path, "a") as file:
        file["layers/dense_2/vars/1"][...] = np.nan


def write_relu(path):
    """Writes the weights of a network with ReLU, which have the same shapes."""
    path.write_bytes(made_weights.make(activation="relu")[1])


def link_to_parent(path):
    target = path.parent.parent / path.name
    path.rename(target)
    path.symlink_to(target)


# case: (function that spoils weights, arguments of `get_model`, class of the expected
# error, pattern of its message).
ROWS = {
    "missing": (misspell, {}, NOT_FOUND, "no file .*elo-.*Did you mean .*elu-.*Weig"),
    "an entry without its file": (delete_file, {}, NOT_FOUND, "no file .*run"),
    "an unknown user": (lambda path: "~nobody_/x.weights.h5", {}, RESOURCE, "home dir"),
    "a long name": (lambda path: f"/{'x' * 999}.weights.h5", {}, RESOURCE, "too long"),
    "a missing folder": (
        lambda path: "/no/x.weights.h5", {}, NOT_FOUND, "Weights in /no: none"
    ),
    "a zero byte": (lambda path: "/x\0.weights.h5", {}, NOT_FOUND, "There is no file"),
    "a folder": (make_folder, {}, USAGE, "is a folder with 0 weight files; expected"),
    "a named pipe": (make_pipe, {}, CORRUPT, "not a regular file: it is a named pipe"),
    "truncated": (truncate, {}, CORRUPT, r"1000 bytes, too few"),
    "a terabyte": (extend, {}, CORRUPT, r"is 1099511627776 bytes; .*at most \d+"),
    "one bit": (flip_bit, {}, CORRUPT, "is [0-9a-f]{64}, expected [0-9a-f]{64}. De"),
    "another activation": (write_relu, {}, CORRUPT, "damaged or another file: its"),
    "NaN": (write_nan, UNVERIFIED, CORRUPT, "layer dense3 is not finite"),
    "a link out of the folder": (link_to_parent, {}, CORRUPT, "is a link out of its"),
    "a name with a folder": (lambda path: "../mnist", {}, NOT_FOUND, "file ../mnist"),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_bad_weight_files_are_refused(run, home, monkeypatch, row):
    check_refused(run, home, monkeypatch, ROWS[row])


def test_good_weights_are_loaded(run, run_parts):
    _, _, trained = run_parts
    model = elu_zoo.get_model(MODEL, weights=run)
    for value, exact in zip(model.get_weights(), trained.get_weights(), strict=True):
        np.testing.assert_array_equal(value, exact.astype(np.float16))
