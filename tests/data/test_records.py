"""Data sets in ArrayRecord files, and errors for bad files."""

import re

import numpy as np
import pytest
import tensorflow_datasets as tfds
from image_files import jpeg, noise, write_imagenet, write_tfds

from elu_zoo import errors
from elu_zoo.data import records
from elu_zoo.data.encoded import Example

CLASSES = ["n01", "n02", "n03"]
EXAMPLES = [Example(f"n0{i % 3 + 1}/{i}.JPEG", jpeg(noise(16, 16, i)), i % 3) for i in range(20)]
ROWS = [(x.name, x.image, x.label) for x in EXAMPLES]
IMAGE = tfds.features.Image(encoding_format="jpeg")
LABEL = tfds.features.ClassLabel(names=CLASSES)


def write(folder, examples=EXAMPLES, **options):
    rows = [(x.name, x.image, x.label) for x in examples]
    options = {"file_format": "array_record", **options}
    return write_imagenet(folder, {"train": rows, "validation": rows[:2]}, CLASSES, **options)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with the twenty examples, three times. No test changes this folder."""
    return write(tmp_path_factory.mktemp("records") / "written", EXAMPLES * 3)


def test_a_folder_of_written_records_is_described(written):
    data = records.find(written)
    assert (data.name, data.class_names) == ("things", tuple(CLASSES))
    lengths = {name: len(split) for name, split in data.splits.items()}
    assert lengths == {"train": 60, "validation": 2}
    assert len(list(written.glob("things-train.array_record*"))) == 3


def test_records_are_read_by_position(written):
    split = records.find(written).splits["train"]
    for positions in (range(60), [59, 0, 8, 7, 8], np.array([3]), []):
        assert split.read(positions) == [EXAMPLES[p % 20] for p in positions]
    with pytest.raises(errors.DataError, match=f"Cannot read train in {written}: "):
        split.read([60])


def test_the_fingerprint_depends_on_the_description(tmp_path, written):
    fingerprints = [
        records.find(write(tmp_path / name, examples)).fingerprint
        for name, examples in (("a", EXAMPLES), ("b", EXAMPLES), ("c", EXAMPLES[:-1]))
    ]
    assert re.fullmatch("[0-9a-f]{8}", fingerprints[0])
    assert fingerprints[0] == fingerprints[1] != fingerprints[2]
    # `written` has the same examples in other files.
    assert records.find(written).fingerprint not in fingerprints


def test_files_without_index_are_refused(tmp_path):
    folder = write(tmp_path / "a", file_format="tfrecord")
    with pytest.raises(errors.DataError, match="no index .*tfds convert_format"):
        records.find(folder)


def test_images_without_a_file_name_are_called_an_image(tmp_path):
    rows = [{"image": x.image, "label": x.label} for x in EXAMPLES[:3]]
    features = {"image": IMAGE, "label": LABEL}
    expected = [x._replace(name="an image") for x in EXAMPLES[:3]]
    folder = write_tfds(tmp_path / "b", {"train": rows}, features, "array_record")
    assert records.find(folder).splits["train"].read(range(3)) == expected


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"image": IMAGE}, "KeyError: 'label'"),
        ({"image": IMAGE, "label": tfds.features.Scalar(np.int64)}, "AttributeError: .*names"),
    ],
)
def test_unsuitable_data_sets_are_refused(tmp_path, features, message):
    row = {"image": EXAMPLES[0].image, "label": 0}
    rows = [{name: row[name] for name in features}]
    folder = write_tfds(tmp_path / "a", {"train": rows}, features, "array_record")
    with pytest.raises(errors.DataError, match=f"^Cannot read .* in {folder}: {message}"):
        records.find(folder)


@pytest.mark.parametrize("name", ["dataset_info.json", "features.json"])
def test_damaged_descriptions_are_refused(tmp_path, name):
    folder = write(tmp_path / "a", EXAMPLES[:1])
    (folder / name).write_text("no JSON")
    with pytest.raises(errors.DataError, match=f"^Cannot .* in {folder}: "):
        records.find(folder)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
    ],
    ids=["missing", "empty", "byte_short"],
)
def test_damaged_files_are_refused(tmp_path, damage):
    folder = write(tmp_path / "a")
    path = next(folder.glob("*-train.array_record*"))
    damage(path)
    data = records.find(folder)
    with pytest.raises(errors.DataError, match=f"Cannot read train in {folder}"):
        data.splits["train"].read([0])
    assert data.splits["validation"].read([0]) == EXAMPLES[:1]
