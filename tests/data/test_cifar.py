"""CIFAR data sets have their labels and splits; slow tests read the real images."""

import dataclasses
import hashlib
import os

import numpy as np
import pytest
import tensorflow_datasets as tensorflow_data
from image_files import write_tfds

from elu_zoo.data import catalog, load, statistics
from elu_zoo.layers import preprocess
from elu_zoo.layers import statistics_file as stored

NAMES = ["cifar10", "cifar100"]


def parts(data):
    return data.train, data.validation, data.test


def keys(*splits):
    return [image.tobytes() for split in splits for image in split.images]


def label_of(*splits):
    labels = np.concatenate([split.labels for split in splits])
    return dict(zip(keys(*splits), labels.tolist(), strict=True))


@pytest.fixture
def prepared(tmp_path, monkeypatch, examples):
    """A folder with a small cifar100, whose examples have a second label."""
    features = {"image": tensorflow_data.features.Image(shape=(3, 2, 1), encoding_format="png")}
    for name in "label", "coarse_label":
        features[name] = tensorflow_data.features.ClassLabel(num_classes=3)
    splits = {
        split: [
            {"image": image, "label": label, "coarse_label": 0}
            for image, label in zip(*arrays, strict=True)
        ]
        for split, arrays in examples.items()
    }
    write_tfds(tmp_path / "cifar100/3.0.2", splits, features)
    small = {"sizes": (6, 2, 4), "image_shape": (3, 2, 1), "num_classes": 3}
    entry = dataclasses.replace(catalog.ENTRIES["cifar100"], **small)
    monkeypatch.setitem(catalog.ENTRIES, "cifar100", entry)
    return tmp_path


def test_a_prepared_data_set_keeps_its_labels(prepared, examples):
    data = load.load("cifar100", prepared)
    assert data.name == data.fingerprint == "cifar100"
    assert data.class_names == ("0", "1", "2")
    assert [len(part) for part in parts(data)] == [6, 2, 4]
    assert label_of(*parts(data)) == {
        image.tobytes(): label
        for images, labels in examples.values()
        for image, label in zip(images, labels, strict=True)
    }


@pytest.fixture(scope="module")
def cifar():
    """Function that loads a real data set, decoded once per module."""
    loaded = {}

    def decoded(name):
        if name not in loaded:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("ELU_ZOO_HOME", os.devnull)
                loaded[name] = load.load(name)
        return loaded[name]

    return decoded


TEN = "airplane automobile truck", (125.307, 122.950, 113.865), "927594fe 330ccb03 a6d1c239"
HUNDRED = "apple aquarium_fish worm", (129.304, 124.070, 112.434), "8b8ec38f b70271ff 372d256e"


@pytest.mark.slow
@pytest.mark.data("cifar10", "cifar100")
@pytest.mark.parametrize(
    ("name", "classes", "expected"),
    [pytest.param("cifar10", 10, TEN, marks=pytest.mark.nightly), ("cifar100", 100, HUNDRED)],
)
def test_real_cifar_has_fixed_splits(cifar, name, classes, expected):
    data, (names, mean, digests) = cifar(name), expected
    assert [len(part) for part in parts(data)] == [45_000, 5_000, 10_000]
    assert (data.image_shape, data.num_classes) == ((32, 32, 3), classes)
    assert data.fingerprint == name and "Krizhevsky" in data.terms
    training = data.train.joined(data.validation)
    assert (np.bincount(training.labels) == 50_000 // classes).all()
    assert (np.bincount(data.test.labels) == 10_000 // classes).all()
    np.testing.assert_allclose(training.images.mean((0, 1, 2)), mean, atol=1e-3)
    actual = [
        hashlib.md5(part.images.tobytes() + part.labels.tobytes()).hexdigest()[:8]
        for part in parts(data)
    ]
    assert actual == digests.split()
    assert [data.class_names[index] for index in (0, 1, -1)] == names.split()


@pytest.mark.slow
@pytest.mark.data("cifar10", "cifar100")
@pytest.mark.parametrize("name", [pytest.param("cifar10", marks=pytest.mark.nightly), "cifar100"])
def test_shipped_whitening_statistics_fit_the_images(cifar, name):
    data = cifar(name)
    images = data.train.joined(data.validation).images
    assert statistics.find_or_fit("gcn_zca", data) == stored.find(name).stem
    whitening = stored.read(stored.find(name).stem)
    x = images.reshape(len(images), -1).astype(np.float32)
    x -= x.mean(1, keepdims=True)
    x *= 55 / np.linalg.norm(x, axis=1, keepdims=True)
    mean = x.mean(0, dtype=np.float64)
    np.testing.assert_allclose(whitening.mean, mean, atol=2e-4)
    x -= mean.astype(np.float32)
    covariance = sum((part.T @ part).astype(np.float64) for part in np.split(x, 10))
    covariance /= len(images)
    identity, p = np.eye(3072), whitening.matrix.astype(np.float64)
    biased = covariance + 0.1 * identity
    # P is the only positive definite matrix with P A P = I, where A is `biased`.
    np.linalg.cholesky(p)
    np.testing.assert_allclose(p @ biased @ p, identity, atol=3e-3)
    assert 2 < np.abs(p).max() < 4  # float16 rounds numbers of this size by up to 1e-3.
    whitened = p @ covariance @ p
    np.testing.assert_allclose(whitened, np.linalg.solve(biased, covariance), atol=3e-3)
    description = {"kind": "gcn_zca", "statistics": name}
    y = preprocess(images[:2000], description).reshape(2000, -1)
    np.testing.assert_allclose(y, x[:2000] @ p, atol=2e-3)
