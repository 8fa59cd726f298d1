"""Classes of a data set, matched with the classes of a model by their names."""

import numpy as np
import pytest
from image_files import classes, fill, noise

from elu_zoo import errors
from elu_zoo.data import class_names, imagenet, load
from elu_zoo.data.dataset import ImageData, Split

IMAGES = np.stack([noise(8, 8, seed) for seed in range(4)])


def data_of(names, labels=(0, 1)):
    split = Split(IMAGES[: len(labels)], np.array(labels, np.int32))
    return ImageData("pets", split, split, split, tuple(names), "", "", "pets-1")


@pytest.mark.parametrize(
    ("names", "known", "labels"),
    [
        (["a", "b"], ["a", "b"], [0, 1]),
        (["a", "b"], ["b", "c", "a"], [2, 0]),  # lacks a class, in another order
        (["a", "b", "unused"], ["b", "a"], [1, 0]),
        (["crane", "crane"], ["crane", "crane"], [0, 1]),
        (["Ka\u0308fer", "b"], ["b", "K\u00e4fer"], [1, 0]),  # of a folder on macOS
    ],
)
def test_classes_are_matched_by_their_names(names, known, labels):
    data = data_of(names)
    found = class_names.matched(data, "tag", known, len(known) or 2)
    assert found.test.labels.tolist() == found.train.labels.tolist() == labels
    assert list(found.class_names) == (known or names)
    assert found.test.images is data.test.images


@pytest.mark.parametrize(
    ("names", "known", "words"),
    [
        (["a", "c"], ["a", "b"], "1 of the 2 classes of .* pets .*: c. tag has"),
        (["a", "Bear"], ["bear", "a"], "pets .*: Bear. .* Did you mean 'bear'"),
        (["a", "b"], ["a", "b", "b"], " pets .* several .*: b. "),
        (["b", "b", "a"], ["a", "b"], "2 of the 2 classes .* pets .*: b, b. "),
        (["a", "b"], [], "3 classes without names, but .* has 2: a, b"),
    ],
)
def test_other_classes_are_refused(names, known, words):
    with pytest.raises(errors.UsageError, match=words):
        class_names.matched(data_of(names), "tag", known, len(known) or 3)


def test_classes_of_images_on_the_disk_are_matched(tmp_path):
    folder = fill(tmp_path / "x", classes({"b": 6, "c": 6}))
    data = imagenet.load(folder, 8)
    found = class_names.matched(data, "tag", ["c", "a", "b"], 3)
    (before,), (after,) = (list(x.train.parts(20)) for x in (data, found))
    assert after.labels.tolist() == [{0: 2, 1: 0}[x] for x in before.labels]
    np.testing.assert_array_equal(after.images, before.images)


def test_names_in_utf16_are_refused_with_a_remedy(tmp_path):
    folder = fill(tmp_path / "x", classes({"a": 3, "b": 3}))
    (folder / "class_names.txt").write_text("a cat\nb dog\n", "utf-16")
    with pytest.raises(errors.DataError, match="Save the file as UTF-8"):
        load.load(folder, image_shape=(8, 8, 3))


def test_classes_without_names_are_taken_in_order_after_a_warning(caplog):
    found = class_names.matched(data_of(["b", "a"]), "own.keras", [], 2)
    assert found.test.labels.tolist() == [0, 1]
    assert "own.keras has no names of classes" in caplog.text and "b, a, in this" in caplog.text


def test_numbers_of_classes_match_no_names(tmp_path):
    path = tmp_path / "own.npz"
    images = np.stack([noise(8, 8, seed) for seed in range(20)])
    np.savez(path, x=images, y=np.arange(20) % 2)
    data = load.load(str(path))
    assert class_names.matched(data, "tag", ["0", "1"], 2) is data
    with pytest.raises(errors.UsageError, match="only the numbers .* Add class_names"):
        class_names.matched(data, "tag", [str(digit) for digit in range(10)], 10)
