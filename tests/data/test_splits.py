"""Hashes of images decide the splits of a user's training images."""

import numpy as np
import pytest
from image_files import classes, fill, noise, uniform

from elu_zoo import errors
from elu_zoo.data import load


def test_an_image_stays_in_its_split_when_other_images_are_removed(tmp_path):
    images = np.stack([noise(8, 8, seed) for seed in range(60)])
    assignments = []
    for name, chosen in {"a": range(60), "b": range(7, 60), "c": range(59, 2, -1)}.items():
        labels = np.arange(60) % 2
        chosen = list(chosen)
        np.savez(tmp_path / f"{name}.npz", x=images[chosen], y=labels[chosen])
        data = load.load(str(tmp_path / f"{name}.npz"))
        splits = data.train, data.validation, data.test
        split_of = {x.tobytes(): i for i, s in enumerate(splits) for x in s.images}
        assert len(split_of) == len(chosen) and set(split_of.values()) == {0, 1, 2}
        assignments.append(split_of)
    expected, *subsets = assignments
    assert all(expected[x] == i for subset in subsets for x, i in subset.items())


@pytest.mark.parametrize("others", [(), ("test",), ("val", "test")])
def test_the_training_images_are_sorted_by_their_hashes(tmp_path, others):
    images = np.stack([noise(8, 8, seed) for seed in range(30)])
    labels = np.arange(30) // 15  # in the order of the classes
    arrays = {f"x_{name}": images for name in ("train", *others)}
    arrays |= {f"y_{name}": labels for name in ("train", *others)}
    np.savez(tmp_path / "x.npz", **arrays)
    data = load.load(str(tmp_path / "x.npz"))
    numbers = [uniform(x) for x in data.train.images]
    assert numbers == sorted(numbers) and set(data.train.first(8).labels) == {0, 1}
    expected = labels[np.argsort([uniform(x) for x in images])]
    assert not others[1:] or data.train.labels.tolist() == expected.tolist()


@pytest.mark.parametrize("count", [3, 4, 7])
def test_few_images_have_all_splits(tmp_path, count):
    for first in range(0, 40 * count, count):
        images = np.stack([noise(8, 8, first + i) for i in range(count)])
        np.savez(tmp_path / "x.npz", x=images, y=np.arange(count) % 2)
        data = load.load(str(tmp_path / "x.npz"))
        sizes = [len(x) for x in (data.train, data.validation, data.test)]
        assert sum(sizes) == count and min(sizes) >= 1
        hashes = [uniform(image) for image in images]
        low, high = sum(h < 0.1 for h in hashes), sum(h >= 0.2 for h in hashes)
        assert sizes[1] == low or low == 0 or high < 2  # test takes from training first


def test_a_class_that_no_training_image_has_is_named(tmp_path, caplog):
    held_out = next(i for i in range(99) if uniform(noise(8, 8, i)) < 0.1)
    images = np.stack([noise(8, 8, i) for i in [*range(100, 120), held_out]])
    labels, names = [0, 1] * 10 + [2], ["a", "b", "rare"]
    np.savez(tmp_path / "x.npz", x=images, y=labels, class_names=names)
    load.load(str(tmp_path / "x.npz"))
    assert "no training image of 1 of 3 classes, " in caplog.text
    assert "learn from it: rare." in caplog.text


@pytest.mark.parametrize(
    ("test_image", "test_label", "words"),
    [
        (0, 1, "1 images are copies of an image of another class"),
        (0, 0, "1 images are in two splits, so that the test error may be too low"),
        (9, 0, ""),
    ],
)
def test_copies_are_named(tmp_path, caplog, test_image, test_label, words):
    images = np.stack([noise(8, 8, i) for i in range(10)])
    arrays = {"x_train": images[:9], "y_train": np.arange(9) % 2}
    arrays |= {"x_test": images[[test_image]], "y_test": [test_label]}
    np.savez(tmp_path / "x.npz", **arrays)
    load.load(str(tmp_path / "x.npz"))
    named = f"{words}, such as train image 0 and test image 0." if words else ""
    assert named in caplog.text and bool(words) == bool(caplog.text)


def test_an_image_file_in_two_class_folders_is_named(tmp_path, caplog):
    folder = fill(tmp_path / "x", classes({"a": 5, "b": 5}))
    copy = (folder / "a").iterdir().__next__()
    (folder / "b" / "copy.png").write_bytes(copy.read_bytes())
    load.load(folder, image_shape=(8, 8, 3))
    assert f"another class, such as {copy} and {folder}/b/copy.png." in caplog.text


def test_equal_images_share_a_split_or_are_refused(tmp_path):
    kinds = np.stack([noise(8, 8, seed) for seed in range(3)])
    np.savez(tmp_path / "x.npz", x=np.repeat(kinds, 9, 0), y=np.arange(27) % 2)
    data = load.load(str(tmp_path / "x.npz"))
    assert [len(x) for x in (data.train, data.validation, data.test)] == [9, 9, 9]
    np.savez(tmp_path / "y.npz", x=np.repeat(kinds[:2], 9, 0), y=np.arange(18) % 2)
    with pytest.raises(errors.DataError, match="2 are distinct; 3 distinct"):
        load.load(str(tmp_path / "y.npz"))
    held_out = {"x_val": kinds, "y_val": [0, 1, 0], "x_test": kinds, "y_test": [0, 1, 0]}
    np.savez(tmp_path / "z.npz", x_train=kinds[:2], y_train=[0, 1], **held_out)
    assert len(load.load(str(tmp_path / "z.npz")).train) == 2
