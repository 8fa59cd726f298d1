"""Commands on missing, damaged or empty data sets. Unit tests are in tests/data."""

import socket

import numpy as np
import pytest
import tensorflow_datasets as tfds
from image_files import classes, fill, noise, write_tfds

SMOKE = "--config=quickstart:smoke=True"


@pytest.fixture(autouse=True)
def no_network(tmp_path, monkeypatch):
    """Sets an empty cache of decoded images, and makes every connection fail."""
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path / "home"))

    def connect(*address, **_):
        raise AssertionError(f"A command connected to {address}")

    for name in ("getaddrinfo", "create_connection"):
        monkeypatch.setattr(socket, name, connect)
    monkeypatch.setattr(socket.socket, "connect", connect)


def test_a_data_set_that_is_not_prepared_is_refused(refused):
    error = refused(1, "train", SMOKE, "--config.data.name=mnist", "--data_dir=data")
    assert "no data/mnist/3" in error and "Nothing is downloaded" in error
    assert "`tfds build mnist --data_dir=data`" in error


def test_the_error_names_the_folder_of_a_damaged_record(refused, here):
    examples = [{"image": noise(16, 16, i), "label": i % 2} for i in range(24)]
    features = {
        "image": tfds.features.Image(shape=(16, 16, 3), encoding_format="png"),
        "label": tfds.features.ClassLabel(num_classes=2),
    }
    folder = write_tfds(here / "data/things/1.0.0", {"train": examples}, features)
    path = folder / "things-train.tfrecord-00001"
    path.write_bytes(path.read_bytes()[:-9])
    error = refused(1, "train", SMOKE, "--data=things", "--data_dir=data")
    assert "Cannot read the data set in data/things/1.0.0: DataLossError" in error


def test_arrays_without_images_are_refused(refused, here):
    np.savez(here / "x.npz", x=np.zeros((0, 28, 28), np.uint8), y=np.zeros(0, int))
    assert "no train im" in refused(1, "train", SMOKE, "--data=x.npz")


def test_a_single_class_is_not_trained_on(refused, here):
    fill(here / "photos", classes({"a": 6}))
    error = refused(1, "train", "--config=mnist_mlp_5x256", "--data=photos")
    assert "photos must have at least two classes. Received: a." in error


def test_the_error_names_images_that_cannot_be_used(refused, here):
    photos = {**classes({"a": 6, "b": 6}), "b/7.png": b"", "a/8.png": b"text"}
    fill(here / "photos", photos)
    config = "--config=mnist_mlp_5x256"
    small = "--config.train.batch_size=4"
    error = refused(1, "train", config, "--data=photos", small)
    assert "2 of 14 images cannot be used: photos/a/8.png: its format" in error
    assert "photos/b/7.png: the file is empty" in error
