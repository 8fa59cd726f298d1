"""Data sets that are missing, half prepared, damaged, mislabelled or too small."""

import socket
import time

import numpy as np
import pytest
import tensorflow_datasets as tfds
from image_files import classes, fill, noise, write_tfds

from elu_zoo import errors
from elu_zoo.data import load, records

SMOKE = "--config=quickstart:smoke=True"
MNIST = "train", SMOKE, "--config.data.name=mnist", "--data_dir=data"
COMMAND = "`tfds build mnist --data_dir=data`"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """An empty cache of decoded arrays, and no network."""
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path / "home"))

    def dial(*address, **_):
        raise AssertionError(f"A data set was looked for at {address}")

    for name in ("getaddrinfo", "create_connection"):
        monkeypatch.setattr(socket, name, dial)
    monkeypatch.setattr(socket.socket, "connect", dial)
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        pytest.param([], "data/mnist does not exist", id="missing"),
        pytest.param(["mnist/"], "data/mnist is empty", id="empty"),
        pytest.param(
            ["mnist/2.0.0/dataset_info.json"], "holds only 2.0.0", id="another_version"
        ),
        pytest.param(
            ["mnist/incomplete.7A_3.0.1/mnist-train.tfrecord-00000-of-00001"],
            "an interrupted preparation; delete it",
            id="partially_prepared",
        ),
        pytest.param(["mnist/3.0.1/"], "holds only 3.0.1", id="without_records"),
    ],
)
def test_unprepared(refused, here, found, words):
    for path in found:
        folder = here / "data" / path
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir() if path.endswith("/") else folder.write_text("{}")
    start = time.perf_counter()
    error = refused(1, *MNIST)
    assert time.perf_counter() - start < 5  # nothing is asked, and asked again
    assert words in error and COMMAND in error and "Nothing is downloaded" in error


FEATURES = {
    "image": tfds.features.Image(shape=(16, 16, 3), encoding_format="png"),
    "label": tfds.features.ClassLabel(num_classes=2),
}


def _examples(count, classes=2):
    return [{"image": noise(16, 16, i), "label": i % classes} for i in range(count)]


def _prepare(root, train=24, test=6, features=FEATURES, num_classes=2):
    splits = {"train": _examples(train, num_classes), "test": _examples(test)}
    return write_tfds(root / "things" / "1.0.0", splits, features)


def _at(content, byte):
    return content[:byte] + bytes([content[byte] ^ 1]) + content[byte + 1 :]


def _length(content):
    """The length of the first record, with its frame."""
    return int.from_bytes(content[:8], "little") + 16


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        pytest.param(lambda c: c[:-9], "cannot be read at record 3: Data", id="cut"),
        pytest.param(lambda c: c[:20], "cannot be read at record 0: DataL", id="stub"),
        pytest.param(
            lambda c: c[: _length(c)], "ends after 1 records of 4", id="cut_between"
        ),
        pytest.param(lambda c: b"", "ends after 0 records of 4", id="emptied"),
        pytest.param(
            lambda c: _at(c, _length(c) + 500),
            "cannot be read at record 1: DataLossError: corrupted record",
            id="flipped_bit",
        ),
        pytest.param(None, "cannot be read at record 0: FileNotFoundE", id="missing"),
    ],
)
def test_damaged_records(tmp_path, home, damage, words):
    folder = _prepare(tmp_path)
    path = folder / "things-train.tfrecord-00001"
    if damage:
        path.write_bytes(damage(path.read_bytes()))
    else:
        path.unlink()
    with pytest.raises(errors.DataError) as caught:
        load.load("things", tmp_path)
    text = str(caught.value)
    assert f"Cannot read the data set in {folder}: {path} {words}" in text
    assert f" Delete {folder} and prepare it again with `tfds build things " in text
    assert "{{" not in text and "\n" not in text
    assert not list(home.rglob("*.npz*"))


def test_damage_of_a_set_that_is_read_through(tmp_path):
    folder = _prepare(tmp_path)
    path = folder / "things-train.tfrecord-00001"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(errors.DataError, match=f"{path} cannot be read at record 3"):
        list(records.read_through(folder, "train"))


def test_a_training_on_damaged_records(refused, here):
    path = _prepare(here / "data") / "things-train.tfrecord-00001"
    path.write_bytes(path.read_bytes()[:-9])
    error = refused(1, "train", SMOKE, "--data=things", "--data_dir=data")
    assert f"{path.relative_to(here)} cannot be read at record 3" in error


def test_labels_of_more_classes_than_there_are(tmp_path):
    features = {**FEATURES, "label": tfds.features.ClassLabel(num_classes=5)}
    folder = _prepare(tmp_path, features=features, num_classes=5)
    path = folder / "features.json"
    path.write_text(path.read_text().replace('"numClasses": "5"', '"numClasses": "2"'))
    with pytest.raises(errors.DataError, match=r"outside 0\.\.1, the first one [2-4]"):
        load.load("things", tmp_path)


def test_a_set_that_was_prepared_again_is_read_again(tmp_path):
    counts = []
    for num_classes in (1, 2):
        folder = _prepare(tmp_path, num_classes=num_classes)
        data = load.load("things", tmp_path)
        counts.append(np.bincount(data.train.labels, minlength=2).tolist())
        folder.rename(tmp_path / f"old{num_classes}")
    assert counts[0][1] == 0 and counts[1][1] > 0


def _npz(**changes):
    images = np.stack([noise(28, 28, i, 1) for i in range(12)])
    return {"x": images, "y": np.arange(12) % 2, **changes}


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        pytest.param(
            _npz(y=np.arange(12) % 3, class_names=["a", "b"]),
            "4 train labels are outside 0..1, the first one 2",
            id="label_beyond_the_names",
        ),
        pytest.param(_npz(y=np.arange(12) % 2 - 1), "Received: -1, 0 to", id="minus"),
        pytest.param(_npz(y=np.arange(11) % 2), "12 images, y 11 labels", id="fewer"),
        pytest.param(
            _npz(x_test=np.zeros((0, 28, 28), np.uint8), y_test=np.zeros(0, int)),
            "x has no test images",
            id="empty_split",
        ),
        pytest.param(
            {"x": np.zeros((0, 28, 28), np.uint8), "y": np.zeros(0, int)},
            "",
            id="no_images_at_all",
        ),
        pytest.param(_npz(y=np.zeros(12, int)), "has one class", id="one_class"),
        pytest.param(
            _npz(), "do not fill one batch of 64. Use more, or smaller", id="few_images"
        ),
    ],
)
def test_arrays(refused, here, arrays, words):
    np.savez(here / "x.npz", **arrays)
    assert words in refused(1, "train", SMOKE, "--data=x.npz")


def test_a_split_of_no_images(tmp_path):
    _prepare(tmp_path, test=0)
    with pytest.raises(errors.DataError, match="'test' of .*/things/1.0.0 has no exam"):
        load.load("things", tmp_path)
    photos = {f"train/{name}": x for name, x in classes({"a": 3, "b": 3}).items()}
    (fill(tmp_path / "photos", photos) / "val").mkdir()
    with pytest.raises(errors.DataError, match="photos/val holds no images"):
        load.load(str(tmp_path / "photos"), None, (16, 16, 3))
