"""Loading of folders and .npz files by path, and of the zoo's data sets by name."""

import os
from pathlib import Path

import numpy as np
import pytest
from image_files import classes, fill, noise, png, rows, uniform
from PIL import Image

from elu_zoo import errors
from elu_zoo.data import catalog, dataset, load

SHAPE = 16, 16, 3


@pytest.fixture(autouse=True)
def no_prepared_data(monkeypatch):
    monkeypatch.delenv("TFDS_DATA_DIR", raising=False)


def test_a_folder_is_split_by_hashes(tmp_path):
    counts = {"cats": 15, "dogs": 25}
    folder = fill(tmp_path / "My pets", classes(counts))
    data = load.load(str(folder), image_shape=SHAPE)
    assert (data.name, data.class_names) == ("my_pets", ("cats", "dogs"))
    assert data.fingerprint.startswith("my_pets-") and "My pets: the terms of" in data.terms
    sizes = [len(data.train), len(data.validation), len(data.test)]
    numbers = [uniform(noise(16, 16, seed)) for seed in range(40)]
    held_out = [sum(a <= u < a + 0.1 for u in numbers) for a in (0, 0.1)]
    assert sizes == [40 - sum(held_out), *held_out] and data.image_shape == SHAPE
    labels = [0] * 15 + [1] * 25
    pixels = [noise(16, 16, seed).tobytes() for seed in range(40)]
    expected = sorted(zip(labels, pixels, strict=True))
    assert rows(data.train, data.validation, data.test) == expected


def test_splits_of_a_folder_are_kept(tmp_path):
    folder = fill(tmp_path / "a/train", classes({"x": 4, "y": 4}))
    fill(tmp_path / "a/val", classes({"x": 2}, seed=20))
    fill(tmp_path / "a/test", classes({"y": 3}, seed=30))
    data = load.load(str(folder.parent), None, SHAPE)
    assert rows(data.test) == sorted((1, noise(16, 16, s).tobytes()) for s in (30, 31, 32))
    assert [len(data.train), len(data.validation)] == [8, 2]


def test_dark_16_bit_files_are_reported(tmp_path, caplog):
    for i in range(40):
        path = tmp_path / "dark" / "xy"[i % 2] / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = noise(16, 16, i, 1)[..., 0].astype(np.uint16) * 8  # up to 2040 of 65535
        Image.fromarray(pixels).save(path)
    load.load(str(tmp_path / "dark"), image_shape=SHAPE)
    assert "the brightest pixel is 7 of 255" in caplog.text


def test_class_names_of_a_folder_are_not_cached(tmp_path):
    folder = fill(tmp_path / "a", classes({"n01": 20, "n02": 20}))
    before = load.load(str(folder), None, SHAPE)
    (folder / "class_names.txt").write_text("n01 cat\nn02 dog\n")
    after = load.load(str(folder), None, SHAPE)  # The pixels come from the cache.
    assert (before.class_names, after.class_names) == (("n01", "n02"), ("cat", "dog"))
    assert rows(before.train) == rows(after.train) and before.fingerprint != after.fingerprint


def test_changed_images_are_read_again(tmp_path):
    folder = fill(tmp_path / "a", classes({"x": 20, "y": 20}))
    before = load.load(str(folder), None, SHAPE)
    path = folder / "x/00.png"
    size = path.stat().st_size
    replacement = png(noise(16, 16, 99))
    assert len(replacement) == size  # Names and sizes of the files do not differ.
    path.write_bytes(replacement)
    os.utime(path, ns=(1, 1))
    after = load.load(str(folder), None, SHAPE)
    assert before.fingerprint != after.fingerprint
    assert (0, noise(16, 16, 99).tobytes()) in rows(after.train, after.validation, after.test)


def test_an_npz_file_is_loaded_and_split(tmp_path):
    images = np.stack([noise(8, 9, seed) for seed in range(50)])
    labels = np.arange(50) % 2
    path = tmp_path / "mnist.npz"  # the zoo has a data set mnist, hence mnist_own
    np.savez(path, x_train=images, y_train=labels, x_test=images[:5], y_test=labels[:5])
    data = load.load(str(path))
    assert (data.name, data.class_names) == ("mnist_own", ("0", "1"))
    assert len(data.train) + len(data.validation) == 50 and len(data.test) == 5
    assert rows(data.train, data.validation) == rows(dataset.Split(images, labels))
    np.testing.assert_array_equal(data.test.images, images[:5])
    assert data.train.labels.dtype == np.int32
    np.savez(path, x_train=images, y_train=1 - labels, x_test=images[:5], y_test=labels[:5])
    assert load.load(str(path)).fingerprint != data.fingerprint


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("cifar1O", errors.UsageError, "Did you mean 'cifar10'.*`tfds build cifar1O"),
        ("./none", errors.NotFoundError, "no folder or .npz file ./none"),
        ("a/b/none", errors.NotFoundError, "no folder or .npz file a/b/none"),
        ("./my_photos/cts", errors.NotFoundError, "Did you mean 'my_photos/cats'"),
        ("my_phots", errors.UsageError, "Did you mean 'my_photos'"),
        ("none.npz", errors.NotFoundError, "There is no file none.npz"),
        (Path("mnist_5k"), errors.NotFoundError, "no folder or .npz file ./mnist_5k"),
        (Path("x.npz"), errors.NotFoundError, "There is no file x.npz"),
    ],
)
def test_wrong_names_are_refused(tmp_path, monkeypatch, name, kind, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_photos/cats").mkdir(parents=True)
    with pytest.raises(kind, match=words):
        load.load(name, tmp_path, SHAPE)


def arrays(count=20, labels=None, **more):
    images = np.zeros((count, 8, 8, 3), "uint8")
    labels = np.arange(count) % 2 if labels is None else labels
    return {"x_train": images, "y_train": labels, **more}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            arrays(labels=np.arange(20) - 1, class_names=np.arange(20)),
            "1 train labels are outside 0..19. The first is -1 .image 0",
        ),
        (
            arrays(labels=np.arange(20), class_names=np.array(list("ab"))),
            "18 train labels are outside 0..1. The first is 2 .image 2",
        ),
        (arrays(labels=np.arange(19)), "20 train images, 19 labels"),
        (arrays(class_names=["a", ""] * 10), "one line"),
        (arrays(2), "2 training images, of which 1 are distinct; 3 distinct"),
        (arrays(x_test=np.zeros((0, 8, 8, 3)), y_test=np.zeros(0, int)), ": 0 test images"),
        (
            arrays(x_val=np.zeros((1, 8, 8, 3), "uint8"), y_val=np.array([3])),
            "1 validation labels are outside 0..1. The first is 3",
        ),
        (
            arrays(x_test=np.zeros((1, 9, 8, 3), "uint8"), y_test=np.zeros(1, int)),
            r"test images of the shape \(9, 8, 3\)",
        ),
    ],
)
def test_inconsistent_data_are_refused(tmp_path, content, words):
    np.savez(tmp_path / "x.npz", **content)
    with pytest.raises(errors.DataError, match=words):
        load.load(str(tmp_path / "x.npz"))


def test_a_folder_needs_a_shape_that_fits_the_memory(tmp_path):
    folder = str(fill(tmp_path / "x", classes({"a": 2, "b": 2})))
    with pytest.raises(errors.UsageError, match="Set image_shape"):
        load.load(folder)
    with pytest.raises(errors.ResourceError, match="4 images of .* take 12.0 GiB"):
        load.load(folder, None, (2**15, 2**15, 3))
    np.savez(tmp_path / "x.npz", **arrays())
    with pytest.raises(errors.ResourceError, match="2 GiB is the limit.*image_size of finetune"):
        load.load(str(tmp_path / "x.npz"), tmp_path, (2**15, 2**15, 3))


@pytest.mark.parametrize("shape", [(32, 32), (32, 32, 4), (0, 32, 3), (32.5, 32, 3), "abc", 32])
def test_invalid_shapes_are_refused(shape):
    with pytest.raises(errors.UsageError, match="image_shape must be .height, width"):
        load.load("mnist_5k", image_shape=shape)


def test_a_bare_name_means_the_zoos_data_set(tmp_path, mnist_5k, monkeypatch, caplog):
    monkeypatch.setattr(catalog, "load", lambda *_: mnist_5k)
    monkeypatch.chdir(tmp_path)
    fill(tmp_path / "mnist_5k", classes({"a": 20, "b": 20}))
    assert load.load(Path("mnist_5k"), None, SHAPE).name == "mnist_5k_own"
    assert load.load("./mnist_5k", None, SHAPE).name == "mnist_5k_own"
    assert "Loading the zoo's data set" not in caplog.text
    assert load.load("mnist_5k").name == "mnist_5k"
    assert "Pass ./mnist_5k to load the folder." in caplog.text


def test_data_of_the_zoo_are_adapted(mnist_5k, monkeypatch):
    monkeypatch.setattr(catalog, "load", lambda *_: mnist_5k)
    small = load.load("mnist_5k", image_shape=(14, 14, 3))
    assert small.image_shape == (14, 14, 3) and small.fingerprint == "mnist_5k_14_14_3"
    np.testing.assert_array_equal(small.train.labels, mnist_5k.train.labels)
    red, _, blue = np.moveaxis(small.test.images, 3, 0)
    np.testing.assert_array_equal(red, blue)
    assert abs(float(red.mean()) - float(mnist_5k.test.images.mean())) < 1
    assert load.load("mnist_5k", image_shape=(28, 28, 1)) is mnist_5k
    with pytest.raises(errors.ResourceError, match="2 GiB is the limit"):
        load.load("mnist_5k", image_shape=(2000, 2000, 3))
