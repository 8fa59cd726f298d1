"""Search for image files in a folder: layouts, names, errors and fingerprints."""

import os
import re
import shutil
from pathlib import Path

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
            ["b/2.JPEG", "a/9.JPEG", "b/1.JPEG"],
            ("a", "b"),
            {"train": [("a/9.JPEG", 0), ("b/1.JPEG", 1), ("b/2.JPEG", 1)]},
        ),
        (
            ["train/b/1.png", "train/a/1.png", "val/b/1.png", "elsewhere/1.png"],
            ("a", "b"),
            {"train": [("a/1.png", 0), ("b/1.png", 1)], "validation": [("b/1.png", 1)]},
        ),
        (
            ["train/a/1.png", "validation/a/2.png"],
            ("a",),
            {"train": [("a/1.png", 0)], "validation": [("a/2.png", 0)]},
        ),
        (
            ["train/a/1.png", "valid/a/2.png", "dev/a/3.png", "train/a/b/4.png"],
            ("a",),
            {"train": [("a/1.png", 0)], "validation": [("a/2.png", 0)]},
        ),
        (
            ["train/1.png", "bus/1.png", "val/2.png", "train/a/3.png"],
            ("bus", "train", "val"),
            {"train": [("bus/1.png", 0), ("train/1.png", 1), ("val/2.png", 2)]},
        ),
        (
            ["train/1.txt", "train/x/y/1.png", "a/1.png", "b/1.png"],
            ("a", "b"),
            {"train": [("a/1.png", 0), ("b/1.png", 1)]},
        ),
        (
            [
                "Training/train/1.png",
                "VALID/train/2.png",
                "val/1.txt",
                "Training/3.png",
            ],
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
    assert images.classes == images.class_names == classes
    assert paths_and_labels(images) == splits
    assert len(images.splits["train"]) == len(splits["train"])
    assert all(split.labels.dtype == np.int32 for split in images.splits.values())


@pytest.mark.parametrize("name", ["1.jpeg", "1.png", "1.JPG", "1.Jpg"])
def test_files_with_the_suffix_of_an_image_are_read(tmp_path, name):
    images = image_folder.find(write_tree(tmp_path, f"a/{name}"))
    assert paths_and_labels(images) == {"train": [(f"a/{name}", 0)]}


@pytest.mark.parametrize(
    "path",
    ["a/1.csv", "a/jpg", "a/1.jpeg.part", "a/.1.jpg"]
    + [".cache/1.jpg", "1.jpg", "a/deeper/1.jpg", "b/1.md"],
)
def test_other_files_are_ignored(tmp_path, path):
    (tmp_path / "empty").mkdir()
    images = image_folder.find(write_tree(tmp_path, "a/2.jpg", path))
    assert paths_and_labels(images) == {"train": [("a/2.jpg", 0)]}
    assert images.classes == ("a",)


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


def test_ignored_files_are_logged(tmp_path, caplog):
    caplog.set_level("INFO", logger="absl")
    image_folder.find(write_tree(tmp_path, "a/1.jpg", "a/.x", "c.txt"))
    assert caplog.text == ""
    image_folder.find(write_tree(tmp_path, "a/3.csv", "b/4/5.jpg"))
    assert f"{tmp_path}/b holds no images and is not a class." in caplog.messages
    ignored = f"Ignored 1 files in {tmp_path} that are not images, such as a/3.csv."
    assert ignored in caplog.messages
    nested = f"1 folders inside class folders of {tmp_path} are not read, such as b/4."
    assert f"{nested} {image_folder.LAYOUT}" in caplog.messages
    image_folder.find(write_tree(tmp_path / "x", "train/a/1.jpg", "dev/2.jpg"))
    others = f"These folders in {tmp_path}/x are not read, because train holds class"
    assert f"{others} folders: dev." in caplog.messages
    image_folder.find(write_tree(tmp_path / "x", "train/loose.jpg", "train/b/1.jpg"))
    assert "Read as classes, because they hold images beside other " in caplog.text
    (tmp_path / "x/dev/2.jpg").unlink()
    image_folder.find(tmp_path / "x")
    loose = f"1 images in {tmp_path}/x/train itself are not read, such as loose.jpg."
    assert loose in caplog.text


@pytest.mark.parametrize(
    ("paths", "words", "moves"),
    [
        (
            ["train/1.jpg", "test/1.jpg"],
            "test, train. Move the images to .*/train/<class>. If .* rename one",
            {"train": "rail"},
        ),
        (
            ["train/1.jpg", "test/1.jpg"],
            "test, train. Move the images to .*/train/<class>",
            {"train/1.jpg": "train/a/1.jpg", "test/1.jpg": "test/a/1.jpg"},
        ),
        (
            ["train/a/1.jpg", "val/a/2.jpg", "valid/a/1.jpg"],
            "several folders of validation images, val, valid. Move the class folders",
            {"val/a/2.jpg": "valid/a/2.jpg"},
        ),
        (
            ["train/a/1.jpg", "test/1.jpg"],
            "1 images are in .*/test itself.* Rename .*/test to leave it out",
            {"test": "unlabelled"},
        ),
        (
            ["train/a/1.jpg", "train/bear/1.jpg", "val/baer/1.jpg"],
            "/val has 1 classes that .* not have: baer. Did you mean 'bear'",
            {"val/baer": "val/bear"},
        ),
        (
            ["cats/2020/1.jpg", "dogs/2021/1.jpg"],
            "Perhaps you mean .*/cats, .* If it is a class, move the images",
            {"cats/2020/1.jpg": "cats/1.jpg", "dogs/2021/1.jpg": "dogs/1.jpg"},
        ),
    ],
)
def test_the_advice_of_an_error_ends_the_error(tmp_path, paths, words, moves):
    names = "train", "validation", "test"
    with pytest.raises(errors.DataError, match=words):
        image_folder.find(write_tree(tmp_path, *paths), names)
    for old, new in moves.items():
        (tmp_path / new).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / old).rename(tmp_path / new)
    image_folder.find(tmp_path, names)


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (["1.jpg", "2.png"], "2 images are in .*x itself, not in a class folder"),
        (["sub/a/1.jpg", "sub/b/1.jpg"], "Perhaps you mean .*x/sub, whose folders"),
        (
            ["sub/test/a/1.jpg", "sub/train/a/1.jpg"],
            "you mean .*x/sub, whose [a-z ]*.$",
        ),
        (["train/a/1.txt", "test/a/1.txt"], r"It holds \.txt files"),
        (["a/1.txt", "b/2.csv"], r"It holds \.csv \.txt files\. Convert"),
        (["a/none"], r"val/<class>/\.\.\.$"),
    ],
)
def test_the_error_for_a_folder_without_images_has_a_hint(tmp_path, paths, words):
    with pytest.raises(errors.DataError, match=words):
        image_folder.find(write_tree(tmp_path / "x", *paths))


def test_files_are_read_by_position(tmp_path):
    fill(tmp_path, {"val/b/1.jpg": b"one", "val/b/2.jpg": b"two", "train/a/1.jpg": b""})
    write_tree(tmp_path, "train/b/1.jpg")
    split = image_folder.find(tmp_path).splits["validation"]
    first, second = (str(tmp_path / f"val/b/{i}.jpg") for i in (1, 2))
    expected = [(second, b"two", 1), (first, b"one", 1), (second, b"two", 1)]
    assert split.read(np.array([1, 0, 1])) == expected
    assert split.read([]) == []


@pytest.mark.parametrize(
    ("paths", "error", "message"),
    [
        (["data"], errors.NotFoundError, r"^There is no folder .*/data\.$"),
        (["data/a.txt"], errors.DataError, r"data holds no images \(PNG, JPEG\)"),
        (["data/a.jpg", "data/b.jpg"], errors.DataError, "<class>/<file>.JPEG, or tra"),
        (["data/train/a/1.jpg", "data/val/1.jpg"], errors.DataError, "/val holds no "),
        (
            [f"data/{split}/a/1.jpg" for split in ("train", "Train")],
            errors.DataError,
            "data has several folders of train images, Train, train. Move",
        ),
    ],
)
def test_unusable_folders_are_refused(tmp_path, paths, error, message):
    with pytest.raises(error, match=message):
        image_folder.find(write_tree(tmp_path, *paths) / "data")


def test_a_tilde_stands_for_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_tree(tmp_path, "data/a/1.jpg")
    assert image_folder.find("~/data").splits["train"].root == tmp_path / "data"


def test_a_class_name_that_is_not_utf8_is_refused(tmp_path):
    write_tree(tmp_path, "a/1.jpg", "b/1.jpg")
    os.rename(bytes(tmp_path / "a"), bytes(tmp_path / "a") + b"\xe9")
    message = r"folder b'a\\xe9' in .* is not UTF-8\. Rename the folder\.$"
    with pytest.raises(errors.DataError, match=message) as caught:
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
    assert images.classes == ("a", "b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1\nc 3\nd 4\ne 5", r"names\.txt has no line for 1 of 5 classes: b\.$"),
        ("", r"has no line for 5 of 5 classes: a, b, c\.$"),
        ("a cat\n\n b \n", r"class_names\.txt, line 3, has no name for 'b'\.$"),
    ],
)
def test_incomplete_class_names_are_refused(tmp_path, text, message):
    (tmp_path / "class_names.txt").write_text(text)
    with pytest.raises(errors.DataError, match=message):
        image_folder.find(write_tree(tmp_path, *(f"{name}/1.jpg" for name in "abcde")))


def _rename_a_file(root):
    (root / "train/a/1.jpg").rename(root / "train/a/2.jpg")


def _move_a_file(root):
    (root / "train/a/1.jpg").rename(root / "train/b/2.jpg")


@pytest.mark.parametrize(
    "change",
    [
        _rename_a_file,
        _move_a_file,
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
    ("folder", "name"),
    [
        ("ILSVRC 2012", "ilsvrc_2012"),
        ("a.b--c", "a_b_c"),
        ("x/..", "data"),
        ("Fotos-Käfer", "fotos_käfer"),
    ],
)
def test_the_name_of_a_data_set_comes_from_its_folder(tmp_path, folder, name):
    folder = tmp_path / "data" / folder
    folder.mkdir(parents=True, exist_ok=True)
    assert image_folder.find(write_tree(folder, "a/1.jpg")).name == name


def test_the_data_set_of_the_root_folder_is_named_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(image_folder.Path, "resolve", lambda self: Path("/"))
    assert image_folder.find(write_tree(tmp_path, "a/1.jpg")).name == "folder"
