"""Search for image files in a folder: layouts, names, errors and fingerprints."""

import os
import re
import shutil

import numpy as np
import pytest
from image_files import fill

from elu_zoo import errors
from elu_zoo.data import folder as image_folder


def write_tree(root, *paths, size=1):
    return fill(root, {path: b"x" * size for path in paths})


def paths_and_labels(images):
    return {
        name: list(zip(split.paths, split.labels.tolist(), strict=True))
        for name, split in images.splits.items()
    }


@pytest.mark.parametrize(
    ("paths", "classes", "splits"),
    [
        (
            ["b/2.JPEG", "a/9.Jpg", "b/1.png"],
            ("a", "b"),
            {"train": [("a/9.Jpg", 0), ("b/1.png", 1), ("b/2.JPEG", 1)]},
        ),
        (
            ["train/b/1.png", "train/a/1.png", "val/b/1.png", "elsewhere/1.png"],
            ("a", "b"),
            {"train": [("a/1.png", 0), ("b/1.png", 1)], "validation": [("b/1.png", 1)]},
        ),
        (
            ["train/a\u0308/1.png", "valid/\xe4/2.png", "dev/a/3.png", "train/a\u0308/b/4.png"],
            ("\xe4",),  # in the Unicode forms of macOS and Linux
            {"train": [("a\u0308/1.png", 0)], "validation": [("\xe4/2.png", 0)]},
        ),
        (
            ["train/1.png", "bus/1.png", "val/2.png"],
            ("bus", "train", "val"),
            {"train": [("bus/1.png", 0), ("train/1.png", 1), ("val/2.png", 2)]},
        ),
        (
            ["Training/train/1.png", "VALID/train/2.png", "Training/3.png"],
            ("train",),
            {"train": [("train/1.png", 0)], "validation": [("train/2.png", 0)]},
        ),
        (
            ["n2/1.png", "n10/1.png", "Z/1.png", "a b/1.png"],
            ("Z", "a b", "n10", "n2"),
            {"train": [("Z/1.png", 0), ("a b/1.png", 1)] + [("n10/1.png", 2), ("n2/1.png", 3)]},
        ),
    ],
)
def test_each_layout_has_splits_classes_and_labels(tmp_path, paths, classes, splits):
    images = image_folder.find(write_tree(tmp_path, *paths))
    assert images.class_names == classes
    assert paths_and_labels(images) == splits
    assert all(split.labels.dtype == np.int32 for split in images.splits.values())


@pytest.mark.parametrize(
    "path", ["a/1.csv", "a/jpg", "a/1.jpeg.part", "a/.1.jpg", ".cache/1.jpg", "1.jpg", "b/1.md"]
)
def test_other_files_are_ignored(tmp_path, path):
    (tmp_path / "empty").mkdir()
    images = image_folder.find(write_tree(tmp_path, "a/2.jpg", path))
    assert paths_and_labels(images) == {"train": [("a/2.jpg", 0)]}


def test_linked_folders_and_files_are_read(tmp_path):
    write_tree(tmp_path / "elsewhere", "a/1.jpg")
    (tmp_path / "linked" / "b").mkdir(parents=True)
    (tmp_path / "linked" / "a").symlink_to(tmp_path / "elsewhere" / "a")
    (tmp_path / "linked" / "b" / "2.jpg").symlink_to(tmp_path / "elsewhere/a/1.jpg")
    images = image_folder.find(tmp_path / "linked")
    assert paths_and_labels(images) == {"train": [("a/1.jpg", 0), ("b/2.jpg", 1)]}


@pytest.mark.parametrize(
    ("path", "target"), [("a/2.jpg", "gone.jpg"), ("a/2.jpg", "2.jpg"), ("b", "b")]
)
def test_broken_links_are_refused(tmp_path, path, target):
    write_tree(tmp_path, "a/1.jpg")
    (tmp_path / path).symlink_to(target)
    with pytest.raises(errors.DataError, match=rf"^Cannot read .*{path}: .+\.$"):
        image_folder.find(tmp_path)


def test_images_and_folders_that_are_not_read_are_logged(tmp_path, caplog):
    image_folder.find(write_tree(tmp_path, "a/1.jpg", "a/.x", "a/2.csv", "c.txt"))
    assert caplog.text == ""
    image_folder.find(write_tree(tmp_path, "2.jpg", "b/4/5.jpg"))
    assert caplog.messages == [f"Not read in {tmp_path}: 2.jpg, b, b/4. {image_folder.LAYOUT}"]
    image_folder.find(write_tree(tmp_path / "x", "train/a/1.jpg", "dev/2.jpg"))
    assert f"Not read in {tmp_path}/x: dev. {image_folder.LAYOUT}" in caplog.messages


@pytest.mark.parametrize(
    ("paths", "error", "words"),
    [
        ([], errors.NotFoundError, "no folder .*x"),
        (["1.jpg", "2.png"], errors.DataError, "/x holds no images .*Expected <class>"),
        (["sub/a/1.jpg", "sub/b/1.jpg"], errors.DataError, "/x holds no images"),
        (["a/1.txt"], errors.DataError, r"/x holds no images .*val/<class>/\.\.\.$"),
        (["train/a/1.jpg", "val/1.jpg"], errors.DataError, "/val holds no images"),
        (["train/1.jpg", "test/1.jpg"], errors.DataError, "with class .* test, train. Expected"),
        (["train/a/1.jpg", "val/a/2.jpg", "valid/a/1.jpg"], errors.DataError, "one folder for"),
        (
            ["train/a/1.jpg", "train/bear/1.jpg", "val/baer/1.jpg"],
            *(errors.DataError, "/val has 1 classes .* not have: baer. Did you mean 'bear'"),
        ),
    ],
)
def test_unusable_folders_are_refused(tmp_path, paths, error, words):
    write_tree(tmp_path, *(f"x/{path}" for path in paths))
    with pytest.raises(error, match=words):
        image_folder.find(tmp_path / "x")


def test_files_are_read_by_position(tmp_path):
    fill(tmp_path, {"val/b/1.jpg": b"one", "val/b/2.jpg": b"two", "train/a/1.jpg": b""})
    write_tree(tmp_path, "train/b/1.jpg")
    split = image_folder.find(tmp_path).splits["validation"]
    first, second = (str(tmp_path / f"val/b/{i}.jpg") for i in (1, 2))
    expected = [(second, b"two", 1), (first, b"one", 1), (second, b"two", 1)]
    assert split.read(np.array([1, 0, 1])) == expected
    assert split.read([]) == []


def test_a_class_name_that_is_not_utf8_is_refused(tmp_path):
    write_tree(tmp_path, "a/1.jpg", "b/1.jpg")
    os.rename(bytes(tmp_path / "a"), bytes(tmp_path / "a") + b"\xe9")
    with pytest.raises(errors.DataError, match="Rename the class folder") as caught:
        image_folder.find(tmp_path)
    assert str(caught.value).isprintable()


def test_a_pipe_or_a_huge_file_of_class_names_is_refused(tmp_path):
    write_tree(tmp_path, "a/1.jpg")
    os.mkfifo(tmp_path / "class_names.txt")
    with pytest.raises(errors.DataError, match=r"names\.txt is not a regular file: it"):
        image_folder.find(tmp_path)
    (tmp_path / "class_names.txt").unlink()
    (tmp_path / "class_names.txt").touch()
    os.truncate(tmp_path / "class_names.txt", 2**40)
    with pytest.raises(errors.DataError, match=r"bytes; a file of class names has at"):
        image_folder.find(tmp_path)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("\ufeffa cat\r\nb dog\r\n", ("cat", "dog")),
        ("b dog\n\n  a\ttabby  cat \nc bird\n", ("tabby  cat", "dog")),
        ("a crane\nb crane", ("crane", "crane")),
        ("a Schäferhund\nb 猫", ("Schäferhund", "猫")),
    ],
)
def test_class_names_are_read_from_the_file(tmp_path, text, names):
    (tmp_path / "class_names.txt").write_text(text, "utf-8")
    images = image_folder.find(write_tree(tmp_path, "train/a/1.jpg", "train/b/1.jpg"))
    assert images.class_names == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1\nc 3\nd 4\ne 5", r"names\.txt has no line .*tab.* for 1 of 5 classes: b\.$"),
        ("a cat\n\n b \n", r"class_names\.txt, line 3, has no name for 'b'\.$"),
    ],
)
def test_incomplete_class_names_are_refused(tmp_path, text, message):
    (tmp_path / "class_names.txt").write_text(text)
    with pytest.raises(errors.DataError, match=message):
        image_folder.find(write_tree(tmp_path, *(f"{name}/1.jpg" for name in "abcde")))


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "train/a/1.jpg").rename(root / "train/a/2.jpg"),
        lambda root: (root / "train/a/1.jpg").rename(root / "train/b/2.jpg"),
        lambda root: write_tree(root, "train/a/1.jpg", size=3),
        lambda root: (root / "val/a/0.jpg").unlink(),
        lambda root: shutil.rmtree(root / "val"),
    ],
)
def test_the_fingerprint_depends_on_names_and_sizes(tmp_path, change):
    paths = [f"{split}/{name}/{i}.jpg" for split in ("train", "val") for name in "ab"
             for i in range(2)]  # fmt: skip
    original, copy = (write_tree(tmp_path / name, *paths) for name in ("a", "b"))
    before = image_folder.find(original).fingerprint
    assert re.fullmatch("[0-9a-f]{8}", before)
    write_tree(copy, "class_names.txt", "val/a/1.txt", ".1/1.jpg")
    (copy / "class_names.txt").write_text("a cat\nb dog\n")
    assert image_folder.find(copy).fingerprint == before
    change(copy)
    assert image_folder.find(copy).fingerprint != before


@pytest.mark.parametrize(
    ("folder", "name"), [("a.b--c", "a_b_c"), ("x/..", "data"), ("Fotos-Käfer 1", "fotos_käfer_1")]
)
def test_the_name_of_a_data_set_comes_from_its_folder(tmp_path, folder, name):
    folder = tmp_path / "data" / folder
    folder.mkdir(parents=True, exist_ok=True)
    assert image_folder.find(write_tree(folder, "a/1.jpg")).name == name
