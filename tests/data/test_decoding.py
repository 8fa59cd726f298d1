"""Decoding of all images of a data set, and computation of their mean."""

import dataclasses
import os

import numpy as np
import pytest
from image_files import CMYK, classes, fill, jpeg, noise

from elu_zoo import errors
from elu_zoo.data import decoding
from elu_zoo.data import folder as image_folder
from elu_zoo.data.encoded import EncodedSplit
from elu_zoo.data.images import decode_checked

SIDE = 16
SHAPE = SIDE, SIDE, 3


def split_of_folder(folder):
    examples = image_folder.find(folder).splits["train"]
    return EncodedSplit(examples, np.arange(len(examples)), SIDE)


@pytest.mark.parametrize("cores", [1, None])
def test_images_keep_their_order_on_any_number_of_cores(tmp_path, monkeypatch, cores):
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    split = split_of_folder(fill(tmp_path, classes({"a": 20, "b": 15}, SIDE)))
    order = [*range(34, 1, -1)]
    decoded = list(decoding.decode_all(split.examples, order, SHAPE))
    assert [x.name for x in decoded] == [str(tmp_path / split.examples.paths[i]) for i in order]
    assert [x.label for x in decoded] == [int(i >= 20) for i in order]
    np.testing.assert_array_equal([x.pixels for x in decoded], [noise(16, 16, i) for i in order])
    assert not any(x.problem for x in decoded)


def test_other_splits_are_checked_but_not_in_the_mean(tmp_path):
    images = {f"a/{i}.jpg": jpeg(noise(40, 40, i)) for i in range(4)}
    images |= {f"a/{i}.jpg": jpeg(noise(20, 40, i)) for i in range(4, 11)}
    images |= {"b/0.jpg": CMYK}
    split = split_of_folder(fill(tmp_path, images))
    # The images of a are sorted by name: 0, 1, 10, 2, ..., 9. One image of b follows.
    paths = split.examples.paths
    training = dataclasses.replace(split, positions=np.arange(5))
    held_out = dataclasses.replace(split, positions=np.arange(5, 12))
    decoded = [decode_checked(images[path], SHAPE) for path in paths[:5]]
    mean = decoding.mean_image(training, held_out, classes=2)
    np.testing.assert_allclose(mean, np.mean(decoded, 0, np.float64), rtol=1e-15)
    (tmp_path / "b/0.jpg").write_bytes(b"")
    with pytest.raises(errors.DataError, match=r"^1 of 12 .*/b/0\.jpg: the file is empty"):
        decoding.mean_image(training, held_out, classes=2)


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("damage", "numbers", "num_classes", "words"),
    [
        (empty, range(1, 8), 2, r"^7 of 9 .*/a/05\.png: .*empty; and 2 more\. Fix"),
        (os.remove, [3], 2, r"^1 of 9 .*/a/03\.png"),
        (os.remove, [], 1, r"^1 of 9 .*/b/00\.png: its label is 1"),
    ],
)
def test_the_error_names_unusable_images(tmp_path, damage, numbers, num_classes, words):
    split = split_of_folder(fill(tmp_path, classes({"a": 8, "b": 1}, SIDE)))
    for number in numbers:
        damage(tmp_path / f"a/{number:02}.png")
    with pytest.raises(errors.DataError, match=words):
        decoding.mean_image(split, classes=num_classes)
