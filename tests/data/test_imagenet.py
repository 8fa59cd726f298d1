"""Loading of ImageNet and other image folders: splits, names, terms and means."""

import numpy as np
import pytest
from image_files import classes, fill, jpeg, noise, write_imagenet

from elu_zoo import errors
from elu_zoo.data import folder as image_folder
from elu_zoo.data import imagenet, records

SIDE = 16
COUNTS = {"train": {"a": 4, "b": 6}, "val": {"b": 5, "a": 7}}  # images per class


def write(folder, splits, names=("n01", "n02"), **options):
    """Writes records with labels 0, 1, 0, ...; `splits` maps splits to image counts."""
    rows = {
        split: [(f"{i}.JPEG", jpeg(noise(SIDE, SIDE, i)), i % 2) for i in range(n)]
        for split, n in splits.items()
    }
    options = {"file_format": "array_record", **options}
    return write_imagenet(folder, rows, list(names), **options)


@pytest.fixture
def flat(tmp_path):
    """Forty images of two classes, without splits."""
    return fill(tmp_path / "Flat Set", classes({"a": 15, "b": 25}, SIDE))


@pytest.fixture
def train_val(tmp_path):
    """Ten training images and twelve validation images."""
    contents = {}
    for seed, (split, counts) in enumerate(COUNTS.items()):
        images = classes(counts, SIDE, seed * 100)
        contents.update({f"{split}/{name}": image for name, image in images.items()})
    return fill(tmp_path / "train_val", contents)


def positions(data):
    splits = data.train, data.validation, data.test
    return [split.positions.tolist() for split in splits]


def labels(split):
    return np.concatenate([part.labels for part in split.parts(9)]).tolist()


def test_a_tenth_of_the_images_is_held_out(flat, caplog):
    caplog.set_level("INFO", logger="absl")
    train, validation, test = positions(imagenet.load(flat, SIDE))
    assert test == [36, 13, 14, 31]  # must never change
    assert validation == test
    assert "4 images of flat_set are held out for validation." in caplog.text
    assert sorted(train) == [i for i in range(40) if i not in test]
    assert train[:6] == [25, 26, 6, 5, 35, 33]
    assert positions(imagenet.load(flat, SIDE)) == [train, validation, test]
    assert positions(imagenet.load(flat, 8, 2)) == [train, test[:2], test]


@pytest.mark.parametrize("layout", ["folder", "prepared"])
def test_images_of_one_class_are_refused(tmp_path, layout):
    if layout == "folder":
        fill(tmp_path / "x", classes({"cat": 3}, 8))
    else:
        write(tmp_path / "x", {"train": 1}, names=["cat"])
    message = f"^All images in {tmp_path}/x are of one class, cat. Expected <class>/<fi"
    with pytest.raises(errors.DataError, match=message):
        imagenet.load(tmp_path / "x", SIDE)


def test_the_official_validation_split_is_the_test_split(train_val):
    data = imagenet.load(train_val, SIDE, 5)
    train, validation, test = positions(data)
    assert train == [7, 9, 8, 2, 4, 0, 3, 5, 6, 1]  # must never change
    assert test == [6, 5, 4, 9, 1, 10, 2, 0, 7, 11, 8, 3]
    assert validation == test[:5]
    assert positions(imagenet.load(train_val, SIDE, 5)) == [train, validation, test]
    assert labels(data.train) == [int(i >= 4) for i in train]
    assert set(labels(data.train.first(4))) == {0, 1}
    assert sorted(labels(data.test)) == [0] * 7 + [1] * 5
    assert labels(data.validation) == labels(data.test)[:5]


def test_a_folder_has_a_name_classes_and_terms(flat, home):
    (flat / "class_names.txt").write_text("a crane\nb crane\n")
    data = imagenet.load(flat, 24)
    assert (data.name, data.class_names) == ("flat_set", ("crane", "crane"))
    assert (data.num_classes, data.image_shape) == (2, (24, 24, 3))
    assert data.fingerprint == f"flat_set-{image_folder.find(flat).fingerprint}-24"
    assert data.fingerprint != imagenet.load(flat, 25).fingerprint
    assert data.terms == "The terms of its images."
    folder = flat.rename(flat.parent / "ImageNet2012-256")
    assert "non-commercial" in imagenet.load(folder, 8).terms
    assert "part of the test images" in data.note and "tenth of the folder, 4 imag" in data.note
    assert not home.exists()


def test_loading_reads_no_image(flat, tmp_path, monkeypatch):
    prepared = write(tmp_path / "prepared", {"train": 3, "validation": 2})
    for kind in (image_folder.FilesOfSplit, records.RecordsOfSplit):
        monkeypatch.setattr(kind, "read", lambda *_: pytest.fail("read"))
    assert len(imagenet.load(flat, SIDE).train) == 36
    assert len(imagenet.load(prepared, SIDE).train) == 3


def test_a_prepared_folder_is_loaded(tmp_path):
    folder = write(tmp_path / "x", {"test": 1, "validation": 6, "train": 9})
    data = imagenet.load(folder, SIDE, 4)
    assert (data.name, data.class_names) == ("things", ("n01", "n02"))
    assert data.fingerprint == f"things-{records.find(folder).fingerprint}-16"
    train, validation, test = positions(data)
    assert (sorted(train), validation) == (list(range(9)), test[:4])
    assert sorted(test) == list(range(6))
    assert labels(data.train) == [i % 2 for i in train]
    assert labels(data.test) == [i % 2 for i in test]


@pytest.mark.parametrize("origin", ["argument", "environment"])
def test_the_newest_prepared_imagenet_is_loaded(tmp_path, monkeypatch, origin):
    for version, count in (("5.0.0", 3), ("5.1.0", 4), ("2.0.1", 5), ("6.0.0", 6)):
        folder = tmp_path / "imagenet2012" / version
        write(folder, {"train": count, "validation": 2}, name="imagenet2012")
    monkeypatch.delenv("TFDS_DATA_DIR", raising=False)
    if origin == "environment":
        monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    data_dir = str(tmp_path) if origin == "argument" else None
    data = imagenet.load("", SIDE, data_dir=data_dir)
    assert (data.name, len(data.train)) == ("imagenet2012", 4)
    assert data.terms.startswith("ImageNet (ILSVRC 2012)")


def test_a_missing_imagenet_is_refused_with_advice(tmp_path):
    with pytest.raises(errors.DataError) as caught:
        imagenet.load("", SIDE, data_dir=tmp_path)
    assert f"`tfds build imagenet2012 --data_dir={tmp_path}`" in str(caught.value)
    assert "set --config.data.folder=<folder> for training" in str(caught.value)


def test_a_data_set_without_a_training_split_is_refused(tmp_path):
    folder = write(tmp_path / "x", {"test": 3, "validation": 1})
    message = f"^The data set in {folder} has no split 'train'.$"
    with pytest.raises(errors.DataError, match=message):
        imagenet.load(folder, SIDE)
