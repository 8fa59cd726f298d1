"""Loading of tensorflow-datasets data sets by name, and errors for damaged files."""

import io

import numpy as np
import pytest
import tensorflow_datasets as tfds
from image_files import jpeg, noise, png, rows, with_exif, write_tfds
from PIL import Image

from elu_zoo import errors
from elu_zoo.data import dataset, images, load

SHAPE = 16, 16, 3


@pytest.fixture(autouse=True)
def no_prepared_data(monkeypatch):
    monkeypatch.delenv("TFDS_DATA_DIR", raising=False)


def features(shape=(28, 28, 1), dtype=np.uint8):
    image = tfds.features.Image(shape=shape, dtype=dtype, encoding_format="png")
    label = tfds.features.ClassLabel(names=["shirt", "bag"])
    return {"image": image, "label": label}


def examples(count, seed=0, shape=(28, 28, 1)):
    return [{"image": noise(*shape[:2], seed + i, shape[2]), "label": i % 2} for i in range(count)]


def test_a_data_set_name_with_a_builder_config_is_loaded(tmp_path):
    name = "fashion/small"
    splits = {"train": examples(30), "test": examples(6, 50)}
    write_tfds(tmp_path / name / "3.0.1", splits, features(), name="fashion")
    data = load.load(name, tmp_path, (28, 28, 3))
    assert data.name == "fashion_small"
    assert data.class_names == ("shirt", "bag")
    assert "terms unknown to tensorflow-datasets" in data.terms
    expected = [np.repeat(x["image"], 3, axis=2) for x in splits["test"]]
    labels = [x["label"] for x in splits["test"]]
    assert rows(data.test) == rows(dataset.Split(np.stack(expected), labels))
    assert len(data.train) + len(data.validation) == 30 and len(data.validation)
    assert load.load(name, tmp_path).image_shape == (28, 28, 1)


def test_splits_have_other_names_and_a_warning_lists_the_rest(tmp_path, caplog):
    splits = {name: examples(6, 9 * i) for i, name in enumerate(("train", "val", "test", "extra"))}
    write_tfds(tmp_path / "t/1.0.0", splits, features())
    data = load.load("t", tmp_path)
    assert len(data.train) == 6 and data.note == ""
    assert {image for _, image in rows(data.validation)} == {
        each["image"].tobytes() for each in splits["val"]
    }
    assert "splits not read: extra" in caplog.text


def test_images_of_any_format_are_decoded_as_in_predictions(tmp_path):
    bitmap, pixels = io.BytesIO(), noise(16, 16, 7)
    Image.fromarray(pixels).save(bitmap, "BMP")
    usual = [with_exif(jpeg(noise(20, 10, 3)), 6), png(np.zeros((16, 16, 4), "uint8"))]
    usual += [png(noise(16, 16, i)) for i in range(9)]
    types = {"kind": features()["label"]}  # any name
    types["image"] = tfds.features.Image(shape=(None, None, None))
    contents = [{"image": x, "kind": i % 2} for i, x in enumerate([bitmap.getvalue(), *usual])]
    write_tfds(tmp_path / "t/1.0.0", {"train": contents}, types)
    data = load.load("t", tmp_path, SHAPE)
    loaded = {image for _, image in rows(data.train, data.validation, data.test)}
    assert loaded == {pixels.tobytes()} | {
        images.decode_checked(content, SHAPE).tobytes() for content in usual
    }


def test_images_of_several_sizes_need_a_shape(tmp_path):
    photos = examples(10, shape=(20, 30, 3)) + examples(10, 20, (16, 16, 3))
    any_size = features(shape=(None, None, 3))
    write_tfds(tmp_path / "photos/1.0.0", {"train": photos}, any_size)
    data = load.load("photos", tmp_path, SHAPE)
    loaded = rows(data.train, data.validation, data.test)
    assert len(loaded) == 20
    # The last ten images have the requested shape, so that no pixel changes.
    unchanged = [(i % 2, x["image"].tobytes()) for i, x in enumerate(photos[10:])]
    assert set(unchanged) <= set(loaded)
    with pytest.raises(errors.UsageError, match="differ in shape"):
        load.load("photos", tmp_path)
    with pytest.raises(errors.UsageError, match="'phot.' is not prepared"):
        load.load("phot*", tmp_path)


@pytest.mark.parametrize(
    ("splits", "feature_types", "words"),
    [
        ({"test": examples(4)}, features(), "no split 'train'. It has test"),
        ({"train": examples(4), "test": []}, features(), "The split 'test' of .* no examples"),
        (
            {"train": [{"image": x["image"]} for x in examples(4)]},
            {"image": features()["image"]},
            "does not have one 8-bit image and one ClassLabel .* features are: image",
        ),
        (
            {"train": [{**x, "image": x["image"].astype("uint16")} for x in examples(4)]},
            features(dtype=np.uint16),
            "does not have one 8-bit image",
        ),
    ],
)
def test_unsuitable_data_sets_are_refused(tmp_path, splits, feature_types, words):
    write_tfds(tmp_path / "other/1.0.0", splits, feature_types)
    with pytest.raises(errors.DataError, match=words):
        load.load("other", tmp_path, SHAPE)


def _flip_bit(content, offset):
    return content[:offset] + bytes([content[offset] ^ 1]) + content[offset + 1 :]


def _record_size(content):
    """Returns the size in bytes of the first record, with header and checksums."""
    return int.from_bytes(content[:8], "little") + 16


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-9],
        lambda content: content[: _record_size(content)],  # of four records
        lambda content: b"",
        lambda content: _flip_bit(content, _record_size(content) + 500),
        None,
    ],
)
def test_damaged_records_are_refused(tmp_path, home, damage):
    splits = {"train": examples(24), "test": examples(2)}
    folder = write_tfds(tmp_path / "things/1.0.0", splits, features())
    path = folder / "things-train.tfrecord-00001"
    if damage:
        path.write_bytes(damage(path.read_bytes()))
    else:
        path.unlink()
    with pytest.raises(errors.DataError) as caught:
        load.load("things", tmp_path)
    text = str(caught.value)
    assert f"Cannot read the data set in {folder}: " in text
    assert f" delete {folder} and prepare it again with `tfds build things " in text
    assert "{{" not in text and "\n" not in text
    assert not list(home.rglob("*.npz*"))


def test_a_damaged_dataset_info_file_is_refused(tmp_path):
    folder = write_tfds(tmp_path / "d/1.0.0", {"train": examples(9)}, features())
    (folder / "dataset_info.json").write_text("{")
    with pytest.raises(errors.DataError, match="Cannot read the data set in"):
        load.load("d", tmp_path, (8, 8, 3))


def test_labels_above_the_number_of_classes_are_refused(tmp_path):
    five_classes = features() | {"label": tfds.features.ClassLabel(num_classes=5)}
    data = [x | {"label": i % 5} for i, x in enumerate(examples(24))]
    folder = write_tfds(tmp_path / "t/1.0.0", {"train": data}, five_classes)
    path = folder / "features.json"
    path.write_text(path.read_text().replace('"numClasses": "5"', '"numClasses": "2"'))
    with pytest.raises(errors.DataError, match=r"outside 0\.\.1\. The first is [2-4]"):
        load.load("t", tmp_path)


def test_a_data_set_that_was_prepared_again_is_read_again(tmp_path):
    counts = []
    for number, labels in enumerate(([0, 0], [0, 1])):
        data = [x | {"label": labels[i % 2]} for i, x in enumerate(examples(9))]
        folder = write_tfds(tmp_path / "t/1.0.0", {"train": data}, features())
        train = load.load("t", tmp_path).train
        counts.append(np.bincount(train.labels, minlength=2).tolist())
        folder.rename(tmp_path / f"old{number}")
    assert counts[0][1] == 0 and counts[1][1] > 0
