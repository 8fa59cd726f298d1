import dataclasses
import gc
import os
import re
import weakref

import numpy as np
import pytest
from image_files import classes, fill, noise, png

from elu_zoo import errors
from elu_zoo.data import dataset
from elu_zoo.data import folder as image_folder
from elu_zoo.data.encoded import EncodedSplit, Example

SIDE = 8
PIXELS = np.stack([noise(SIDE, SIDE, seed) for seed in range(12)])
LABELS = np.arange(12) % 5


class Listed:
    """Examples in memory, which tells what was read."""

    def __init__(self, images):
        self.images, self.seen = images, []

    def __len__(self):
        return len(self.images)

    def read(self, positions):
        self.seen += [int(position) for position in positions]
        return [Example(f"{p}.png", self.images[p], int(p) % 5) for p in positions]


@pytest.fixture
def split():
    """The twelve images of `PIXELS`."""
    return EncodedSplit(Listed([png(image) for image in PIXELS]), np.arange(12), SIDE)


def joined(parts):
    """The images and labels of batches."""
    parts = list(parts)
    assert all(isinstance(part, dataset.Split) for part in parts)
    assert all(part.images.dtype == np.uint8 for part in parts)
    assert all(part.labels.dtype == np.int32 for part in parts)
    empty = [(np.zeros((0, SIDE, SIDE, 3), "uint8"), np.zeros(0, "int32"))]
    pairs = [(part.images, part.labels) for part in parts] or empty
    return [np.concatenate(arrays) for arrays in zip(*pairs, strict=True)]


def check(parts, positions):
    """Asserts that batches hold the images of these positions."""
    images, labels = joined(parts)
    np.testing.assert_array_equal(images, PIXELS[positions])
    np.testing.assert_array_equal(labels, LABELS[positions])


@pytest.mark.parametrize(
    ("size", "sizes"),
    [(1, [1] * 7), (3, [3, 3, 1]), (4, [4, 3]), (7, [7]), (100, [7])],
)
def test_batches_come_in_the_order_asked(split, size, sizes):
    indices = np.array([9, 0, 11, 3, 3, 1, 0])
    parts = list(split.batches(indices, size))
    assert [len(part) for part in parts] == sizes
    check(parts, indices)


def test_indices_are_of_the_splits_own_positions(split):
    own = dataclasses.replace(split, positions=np.array([7, 2, 11, 5]))
    check(own.batches(np.array([3, 0, 0, 2]), 3), [5, 7, 7, 11])
    check(own.batches(np.array([], "int32"), 3), [])


@pytest.mark.parametrize("cores", [1, 2, 7, None])
def test_the_number_of_cores_changes_nothing(split, monkeypatch, cores):
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    indices = np.random.default_rng(0).permutation(12)
    check(split.batches(indices, 5), indices)


@pytest.mark.parametrize("done", [0, 1, 2, 3])
def test_reading_goes_on_in_mid_epoch(split, done):
    indices = np.random.default_rng(1).permutation(12)
    whole = list(split.batches(indices, 4))
    rest = list(split.batches(indices[4 * done :], 4))
    assert len(rest) == 3 - done
    for one, other in zip(rest, whole[done:], strict=True):
        np.testing.assert_array_equal(one.images, other.images)
        np.testing.assert_array_equal(one.labels, other.labels)


def test_the_shares_of_two_machines_make_up_the_batches(split):
    batches = np.random.default_rng(2).permutation(12).reshape(3, 4)
    halves = slice(0, 2), slice(2, 4)
    shares = [split.batches(batches[:, own].ravel(), 2) for own in halves]
    for batch, first, second in zip(batches, *shares, strict=True):
        check([first, second], batch)


def test_reads_only_a_few_batches_ahead():
    """The memory is that of some batches, whatever the epoch's length."""
    examples = Listed([png(PIXELS[0])] * 400)
    split = EncodedSplit(examples, np.arange(400), SIDE)
    parts = split.batches(np.arange(400), 4)
    assert examples.seen == []
    next(parts)
    assert len(examples.seen) < 200
    assert sum(len(part) for part in parts) == 396
    assert examples.seen == list(range(400))


def test_the_images_of_an_abandoned_epoch(split):
    parts = split.batches(np.arange(12), 2)
    next(parts)
    parts.close()
    check(split.batches(np.arange(12), 2), np.arange(12))


@pytest.mark.parametrize("size", [1, 5, 12, 99])
def test_parts(split, size):
    parts = list(split.parts(size))
    assert [len(part) for part in parts[:-1]] == [size] * (len(parts) - 1)
    check(parts, np.arange(12))


def test_shape_and_length(split):
    assert (len(split), split.image_shape) == (12, (SIDE, SIDE, 3))
    other = dataclasses.replace(split, positions=np.array([4]), side=20)
    assert (len(other), other.image_shape) == (1, (20, 20, 3))
    (part,) = other.parts(9)
    assert part.image_shape == other.image_shape


def test_first(split):
    own = dataclasses.replace(split, positions=np.array([7, 2, 11]))
    check(own.first(2).parts(9), [7, 2])
    check(own.first(3).parts(9), [7, 2, 11])
    assert len(own) == 3
    with pytest.raises(errors.DataError, match="4 examples .*; the split has 3"):
        own.first(4)


def test_indices_are_let_go(split):
    """TensorFlow keeps what generates a data set for the life of the process."""
    chosen = []

    class Positions:
        def __getitem__(self, indices):
            own = np.array(indices)
            chosen.append(weakref.ref(own))
            return own

    own = dataclasses.replace(split, positions=Positions())
    check(own.batches(np.arange(12), 5), np.arange(12))
    gc.collect()
    assert [reference() for reference in chosen] == [None]


@pytest.fixture
def stored(tmp_path):
    """A split of six images in files, and its folder."""
    fill(tmp_path, classes({"a": 3, "b": 3}, SIDE))
    examples = image_folder.find(tmp_path).splits["train"]
    return EncodedSplit(examples, np.arange(6), SIDE), tmp_path


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), r"^Cannot read {}: No such file or directory\.$"),
        (
            lambda path: path.write_bytes(b""),
            r"^{} cannot be used: the file is empty\.$",
        ),
        (
            lambda path: path.write_bytes(b"text"),
            r"^{} cannot be used: it is text; expected PNG or JPEG\.$",
        ),
        (
            lambda path: path.write_bytes(path.read_bytes()[:-90]),
            r"^{} cannot be used: the file is damaged or cut off\.$",
        ),
    ],
)
def test_a_bad_file_is_named_and_what_precedes_it_is_read(stored, damage, message):
    split, folder = stored
    damage(folder / "b/00.png")
    parts = split.batches(np.array([5, 0, 1, 3, 2, 4]), 2)
    assert len(next(parts)) == 2
    with pytest.raises(errors.DataError, match=message.format(f"{folder}/b/00.png")):
        next(parts)


def test_the_first_of_several_bad_files_is_named(stored):
    split, folder = stored
    for name in ("a/01.png", "b/02.png"):
        (folder / name).write_bytes(b"text")
    with pytest.raises(errors.DataError, match=r"b/02\.png cannot be used"):
        list(split.batches(np.array([0, 5, 1]), 3))
    with pytest.raises(errors.DataError, match=r"a/01\.png cannot be used"):
        list(split.parts(2))


def test_a_file_that_could_not_be_read_only_once():
    class Once(Listed):
        def read(self, positions):
            found = super().read(positions)
            if len(self.seen) == 1:
                raise errors.DataError("Cannot read 0.png: Input/output error.")
            return found

    split = EncodedSplit(Once([png(PIXELS[0])]), np.arange(1), SIDE)
    with pytest.raises(errors.DataError, match=r"^Cannot read 0\.png: Input/output"):
        list(split.parts(1))


def test_images_that_are_bad_only_once():
    """A file that is being written, say: nothing else is claimed."""

    class Once(Listed):
        def read(self, positions):
            found = super().read(positions)
            if len(self.seen) == 1:
                return [found[0]._replace(image=b"text")]
            return found

    split = EncodedSplit(Once([png(PIXELS[0])]), np.arange(1), SIDE)
    with pytest.raises(errors.DataError, match="^Images cannot be decoded: ") as caught:
        list(split.parts(1))
    assert not re.search(r"\d\.png", str(caught.value))
