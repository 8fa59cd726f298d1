"""Reading of images and labels from .npz files: accepted arrays, and errors."""

import os

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.data import npz

GENERATOR = np.random.default_rng(0)
GREY = GENERATOR.integers(0, 256, (6, 8, 9), "uint8")
COLOUR = GENERATOR.integers(0, 256, (6, 8, 9, 3), "uint8")
WHITE = np.ones((6, 8, 9))
LABELS = np.array([0, 1, 2, 0, 1, 2])


def save(tmp_path, **arrays):
    path = tmp_path / "own.npz"
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize(
    ("arrays", "images", "labels", "class_names"),
    [
        ({"x_train": COLOUR, "y_train": LABELS}, COLOUR, LABELS, "012"),
        ({"images": COLOUR, "labels": LABELS[:, None]}, COLOUR, LABELS, "012"),
        ({"x": GREY, "y": LABELS.astype("uint8")}, GREY[..., None], LABELS, "012"),
        ({"x": COLOUR.astype("int64"), "y": LABELS}, COLOUR, LABELS, "012"),
        ({"x": COLOUR.astype("float32"), "y": LABELS}, COLOUR, LABELS, "012"),
        ({"x": COLOUR, "y": LABELS, "class_names": ["a\n", *"bcd"]}, COLOUR, LABELS, "abcd"),
        ({"x": COLOUR, "y": LABELS, "class_names": [b"\xc3\xa9"] * 3}, COLOUR, LABELS, "ééé"),
    ],
)
def test_accepted_arrays_are_read(tmp_path, arrays, images, labels, class_names):
    read = npz.read(save(tmp_path, **arrays), None)
    assert read["train_images"].dtype == np.uint8
    np.testing.assert_array_equal(read["train_images"], images)
    np.testing.assert_array_equal(read["train_labels"], labels)
    assert list(map(str, read["class_names"])) == list(class_names)


@pytest.mark.parametrize("part", ["val", "valid", "validation"])
def test_validation_and_test_arrays_are_read(tmp_path, caplog, part):
    arrays = {"x_train": COLOUR, "y_train": LABELS, "x": COLOUR, "y": LABELS}
    arrays |= {f"x_{part}": COLOUR[:1], f"y_{part}": LABELS[:1]}
    arrays |= {"x_test": COLOUR[1:3] // 128, "y_test": [2.0, 1.0]}
    read = npz.read(save(tmp_path, **arrays), None)
    assert "own.npz: arrays not read: x, y" in caplog.text
    assert "x_test: pixels are 0 or 1" in caplog.text
    np.testing.assert_array_equal(read["validation_images"], COLOUR[:1])
    np.testing.assert_array_equal(read["test_labels"], [2, 1])
    assert list(map(str, read["class_names"])) == ["0", "1", "2"]


def test_images_are_adapted(tmp_path):
    path = save(tmp_path, x=GREY, y=LABELS)
    read = npz.read(path, (8, 9, 3))["train_images"]
    np.testing.assert_array_equal(read, np.repeat(GREY[..., None], 3, axis=3))
    assert npz.read(path, (4, 4, 1))["train_images"].shape == (6, 4, 4, 1)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"y_train": LABELS}, "has no array x_train. Expected arrays x_train and"),
        ({"x_train": COLOUR}, "has no array y_train"),
        ({"a": COLOUR}, "no training images. .* Received: a"),
        ({}, "Received: nothing"),
        ({"x": COLOUR.transpose(0, 3, 1, 2), "y": LABELS}, r"\(6, 3, 8, 9\).*np.moveaxis"),
        ({"x": COLOUR[0], "y": LABELS}, r"\(8, 9, 3, 1\); expected .* at least 8 pixels"),
        ({"x": WHITE, "y": LABELS}, "x must be 0..255.* Multiply"),
        ({"x": COLOUR, "y": LABELS + 1}, "Received: 1, 2, 3. Use np.searchsorted"),
        ({"x": COLOUR, "y": LABELS * 10**6}, "Received: 0, 1000000, 2000000"),
        ({"x": COLOUR, "y": LABELS.astype(str)}, r"Use np\.searchsorted"),
        ({"x": COLOUR[..., :2], "y": LABELS}, "with 1, 3 or 4 channels"),
        ({"x": COLOUR - np.int64(9), "y": LABELS}, "x must be 0..255.* of int64"),
        ({"x": COLOUR.astype("complex64"), "y": LABELS}, "complex64 values .* expected numbers"),
        ({"x": COLOUR, "y": LABELS / 2}, "float64 values in the shape .6,.; expected"),
        ({"x": COLOUR, "y": np.eye(6, dtype=int)}, r"shape \(6, 6\)"),
        ({"x": COLOUR, "y": np.array(list("abcabc"), object)}, "Object arrays"),
    ],
)
def test_bad_arrays_are_refused(tmp_path, arrays, words):
    with pytest.raises(errors.DataError, match=words):
        npz.read(save(tmp_path, **arrays), None)


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "own.npz"
    np.savez_compressed(path, x=COLOUR, y=LABELS)
    content = path.read_bytes()
    overwritten = content[:200] + bytes(100) + content[300:]
    for damaged in (b"", b"PK\3\4 no archive", b"text", b"\x93NUMPY\1\0", overwritten):
        path.write_bytes(damaged)
        with pytest.raises(errors.DataError, match="not a readable .npz file"):
            npz.read(path, None)


def test_a_named_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "own.npz")
    with pytest.raises(errors.DataError, match="is not a regular file: it is a named"):
        npz.read(tmp_path / "own.npz", None)
