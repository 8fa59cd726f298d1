"""Any data set of tensorflow-datasets: what is read of it, and what is refused."""

import numpy as np
import pytest
import tensorflow_datasets as tfds
from image_files import noise, rows, write_tfds

from elu_zoo import errors
from elu_zoo.data import dataset, load

SHAPE = 16, 16, 3


@pytest.fixture(autouse=True)
def no_prepared_data(monkeypatch):
    monkeypatch.delenv("TFDS_DATA_DIR", raising=False)


def features(shape=(28, 28, 1), dtype=np.uint8):
    image = tfds.features.Image(shape=shape, dtype=dtype, encoding_format="png")
    label = tfds.features.ClassLabel(names=["shirt", "bag"])
    return {"image": image, "label": label}


def examples(count, seed=0, shape=(28, 28, 1)):
    return [
        {"image": noise(*shape[:2], seed + i, shape[2]), "label": i % 2}
        for i in range(count)
    ]


@pytest.mark.parametrize("name", ["fashion", "fashion/small"])
def test_a_data_set_of_tensorflow_datasets(tmp_path, name):
    splits = {"train": examples(30), "test": examples(6, 50)}
    write_tfds(tmp_path / name / "3.0.1", splits, features(), name="fashion")
    data = load.load(name, tmp_path, (28, 28, 3))
    assert data.name == name.replace("/", "_")
    assert data.class_names == ("shirt", "bag")
    assert "terms unknown to tensorflow-datasets" in data.terms
    expected = [np.repeat(x["image"], 3, axis=2) for x in splits["test"]]
    labels = [x["label"] for x in splits["test"]]
    assert rows(data.test) == rows(dataset.Split(np.stack(expected), labels))
    assert len(data.train) + len(data.validation) == 30 and len(data.validation)
    assert load.load(name, tmp_path).image_shape == (28, 28, 1)


def test_images_of_several_sizes(tmp_path):
    several = examples(10, shape=(20, 30, 3)) + examples(10, 20, (16, 16, 3))
    given = features(shape=(None, None, 3))
    write_tfds(tmp_path / "photos/1.0.0", {"train": several}, given)
    data = load.load("photos", tmp_path, SHAPE)
    everything = rows(data.train, data.validation, data.test)
    assert len(everything) == 20
    kept = [(i % 2, x["image"].tobytes()) for i, x in enumerate(several[10:])]
    assert set(kept) <= set(everything)
    with pytest.raises(errors.UsageError, match="no shape in common"):
        load.load("photos", tmp_path)


@pytest.mark.parametrize(
    ("splits", "given", "words"),
    [
        ({"test": examples(4)}, features(), "no split 'train'. It has test"),
        (
            {"train": [{"image": x["image"]} for x in examples(4)]},
            {"image": features()["image"]},
            "no data set of one 8-bit image and one label .* features are: image",
        ),
        (
            {
                "train": [
                    {**x, "image": x["image"].astype("uint16")} for x in examples(4)
                ]
            },
            features(dtype=np.uint16),
            "no data set of one 8-bit image",
        ),
    ],
)
def test_other_data_sets(tmp_path, splits, given, words):
    write_tfds(tmp_path / "other/1.0.0", splits, given)
    with pytest.raises(errors.DataError, match=words):
        load.load("other", tmp_path, SHAPE)


def test_damaged_records(tmp_path):
    folder = write_tfds(tmp_path / "d/1.0.0", {"train": examples(9)}, features())
    (record,) = folder.glob("*tfrecord*")
    record.write_bytes(record.read_bytes()[:-7])
    with pytest.raises(errors.DataError, match="DataLossError.*Delete .*`tfds build d"):
        load.load("d", tmp_path, SHAPE)
    (folder / "dataset_info.json").write_text("{")
    with pytest.raises(errors.DataError, match="Cannot read the data set in"):
        load.load("d", tmp_path, (8, 8, 3))


def test_what_does_not_fit_the_memory(tmp_path):
    write_tfds(tmp_path / "t/1.0.0", {"train": examples(4)}, features())
    with pytest.raises(errors.ResourceError, match="2 GiB is the limit"):
        load.load("t", tmp_path, (2**15, 2**15, 3))
