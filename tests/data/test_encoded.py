"""Batches and decoding of encoded images: order, memory, and errors for bad files."""

import dataclasses
import gc
import os
import weakref

import numpy as np
import pytest
from image_files import classes, fill, noise, png

from elu_zoo import errors
from elu_zoo.data import dataset, encoded
from elu_zoo.data import folder as image_folder
from elu_zoo.data.encoded import EncodedSplit, Example

SIDE = 8
PIXELS = np.stack([noise(SIDE, SIDE, seed) for seed in range(12)])
LABELS = np.arange(12) % 5


class InMemory:
    """Examples in memory, with a list of the positions that were read."""

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
    return EncodedSplit(InMemory([png(image) for image in PIXELS]), np.arange(12), SIDE)


def check(parts, positions):
    """Asserts that `parts` hold the images at `positions`, in this order."""
    parts = list(parts)
    assert all(isinstance(part, dataset.Split) for part in parts)
    images = np.concatenate([part.images for part in parts])
    labels = np.concatenate([part.labels for part in parts])
    assert (images.dtype, labels.dtype) == (np.uint8, np.int32)
    np.testing.assert_array_equal(images, PIXELS[positions])
    np.testing.assert_array_equal(labels, LABELS[positions])


@pytest.mark.parametrize(("size", "sizes"), [(1, [1] * 7), (3, [3, 3, 1]), (100, [7])])
def test_batches_have_the_order_of_the_indices(split, size, sizes):
    indices = np.array([9, 0, 11, 3, 3, 1, 0])
    parts = list(split.batches(indices, size))
    assert [len(part) for part in parts] == sizes
    check(parts, indices)


def test_indices_refer_to_the_positions_of_the_split(split):
    few = dataclasses.replace(split, positions=np.array([7, 2, 11, 5]))
    check(few.batches(np.array([3, 0, 0, 2]), 3), [5, 7, 7, 11])
    assert list(few.batches(np.array([], "int32"), 3)) == []


@pytest.mark.parametrize("cores", [1, 7])
def test_batches_do_not_depend_on_the_number_of_cores(split, monkeypatch, cores):
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    indices = np.random.default_rng(0).permutation(12)
    check(split.batches(indices, 5), indices)


def test_only_a_few_batches_are_read_ahead(monkeypatch):
    """The memory must not depend on the length of the epoch."""
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    examples = InMemory([png(PIXELS[0])] * 400)
    split = EncodedSplit(examples, np.arange(400), SIDE)
    parts = split.batches(np.arange(400), 4)
    assert examples.seen == []
    next(parts)
    assert len(examples.seen) < 200
    assert sum(len(part) for part in parts) == 396
    assert examples.seen == list(range(400))


def test_an_abandoned_epoch_does_not_affect_the_next_epoch(split):
    parts = split.batches(np.arange(12), 2)
    next(parts)
    parts.close()
    check(split.parts(5), np.arange(12))


def test_first_returns_a_split_of_the_first_examples(split):
    few = dataclasses.replace(split, positions=np.array([7, 2, 11]))
    check(few.first(2).parts(9), [7, 2])
    assert len(few.first(4)) == len(few.first(3)) == len(few) == 3


@pytest.mark.slow
def test_positions_are_freed_after_the_epoch(split):
    """TensorFlow never frees the generator, which must therefore keep no positions."""
    references = []

    class Positions:
        def __getitem__(self, indices):
            positions = np.array(indices)
            references.append(weakref.ref(positions))
            return positions

    watched = dataclasses.replace(split, positions=Positions())
    check(watched.batches(np.arange(12), 5), np.arange(12))
    gc.collect()
    assert [reference() for reference in references] == [None]


def stored(folder, counts):
    """Returns a split of image files, which are written to the folder."""
    examples = image_folder.find(fill(folder, classes(counts, SIDE))).splits["train"]
    return EncodedSplit(examples, np.arange(len(examples)), SIDE)


@pytest.mark.parametrize(
    "damage", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-90])]
)
def test_an_error_for_the_first_bad_files_follows_the_batches_before_them(tmp_path, damage):
    split = stored(tmp_path, {"a": 3, "b": 3})
    for name in ("a/01.png", "b/00.png"):
        damage(tmp_path / name)
    parts = split.batches(np.array([5, 0, 2, 3, 1, 4]), 2)
    assert len(next(parts)) == 2
    with pytest.raises(errors.DataError, match=f"^1 of 2 .*{tmp_path}/b/00.png"):
        next(parts)


class Once(InMemory):
    """Examples that are bad at the first read, like a file that is being written."""

    def read(self, positions):
        examples = super().read(positions)
        return examples if self.seen[1:] else [examples[0]._replace(image=b"text")]


def test_an_error_that_occurs_once_is_raised():
    with pytest.raises(errors.DataError, match="^1 of 1 images cannot be used: (?!.*0.png)"):
        list(EncodedSplit(Once([png(PIXELS[0])]), np.arange(1), SIDE).parts(1))


def test_all_images_are_decoded_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    examples = stored(tmp_path, {"a": 20, "b": 15}).examples
    order = [*range(34, 1, -1)]
    decoded = list(encoded.decode_all(examples, order, (SIDE, SIDE, 3)))
    assert [x.name for x in decoded] == [str(tmp_path / examples.paths[i]) for i in order]
    assert [x.label for x in decoded] == [int(i >= 20) for i in order]
    expected = [noise(SIDE, SIDE, i) for i in order]
    np.testing.assert_array_equal([x.pixels for x in decoded], expected)


@pytest.mark.parametrize(
    ("damage", "numbers", "num_classes", "words"),
    [
        (lambda x: x.write_bytes(b""), range(1, 8), 2, r"^7 of 9 .*/a/05.png: .*and 2 more. Fix"),
        (os.remove, [3], 2, r"^1 of 9 .*/a/03\.png"),
        (os.remove, [], 1, r"^1 of 9 .*/b/00\.png: its label is 1"),
    ],
)
def test_the_error_names_unusable_images(tmp_path, damage, numbers, num_classes, words):
    split = stored(tmp_path, {"a": 8, "b": 1})
    for number in numbers:
        damage(tmp_path / f"a/{number:02}.png")
    with pytest.raises(errors.DataError, match=words):
        encoded.mean_image(split, classes=num_classes)
