"""Loading an export in Python: paths, damaged files, and bad images."""

import os
import shutil

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.export.saved_model import load_saved_model


@pytest.fixture(scope="module")
def loaded(exports):
    return load_saved_model(exports / "colour")


@pytest.fixture
def copy(exports, tmp_path):
    """A folder with a copy of the export colour/1."""
    shutil.copytree(exports / "colour", tmp_path / "colour")
    return tmp_path


@pytest.mark.parametrize("form", [".", "colour", "colour/1"])
def test_version_is_loaded_from_its_folder_or_a_folder_above(copy, class_names, form):
    loaded = load_saved_model(str(copy / form))
    assert loaded.path == copy / "colour" / "1"
    assert loaded.class_names == class_names
    assert loaded.image_shape == (12, 12, 3)


@pytest.mark.parametrize("labels", ["", "plane\ncañon\nbird\n"])
def test_labels_of_another_number_of_classes_are_refused(copy, labels):
    (copy / "colour" / "1" / "assets" / "labels.txt").write_text(labels, "utf-8")
    with pytest.raises(errors.CorruptError, match="labels.txt has . lines"):
        load_saved_model(copy / "colour")


def test_highest_version_is_loaded(copy):
    shutil.copytree(copy / "colour" / "1", copy / "colour" / "10")
    shutil.copytree(copy / "colour" / "1", copy / "colour" / "9")
    assert load_saved_model(copy).path.name == "10"


def test_missing_folder_is_refused(tmp_path):
    with pytest.raises(errors.NotFoundError, match="does not exist"):
        load_saved_model(tmp_path / "nothing")


def test_folder_without_versions_is_refused(tmp_path):
    (tmp_path / "net" / "latest").mkdir(parents=True)
    for path in (tmp_path, tmp_path / "net"):
        with pytest.raises(errors.UsageError, match="holds no exported model"):
            load_saved_model(path)


def test_several_models_are_refused(exports):
    with pytest.raises(errors.UsageError, match="several models: colour, grey"):
        load_saved_model(exports)


def test_file_instead_of_a_folder_is_refused(tmp_path):
    (tmp_path / "net.keras").write_bytes(b"")
    with pytest.raises(errors.UsageError, match="not a folder"):
        load_saved_model(tmp_path / "net.keras")


def remove(path):
    path.unlink()


def truncate(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def flip_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DATA = "variables/variables.data-00000-of-00001"


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("saved_model.pb", truncate),
        (DATA, truncate),
        (DATA, flip_bit),
        ("variables/variables.index", flip_bit),
        ("assets/labels.txt", remove),
    ],
)
def test_damaged_file_is_refused(copy, file, damage):
    damage(copy / "colour" / "1" / file)
    with pytest.raises(errors.CorruptError, match="is damaged or not an export"):
        load_saved_model(copy / "colour")


@pytest.mark.parametrize("file", ["saved_model.pb", DATA, "assets/labels.txt"])
def test_a_named_pipe_is_refused(copy, within, file):
    path = copy / "colour" / "1" / file
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(errors.CorruptError, match=f"{file} is not a regular file"):
        within(load_saved_model, copy / "colour")


def test_foreign_saved_model_is_refused(tmp_path):
    tf.saved_model.save(tf.Module(), str(tmp_path / "net" / "1"))
    with pytest.raises(errors.CorruptError, match="not an export of elu_zoo"):
        load_saved_model(tmp_path)


@pytest.mark.parametrize(
    ("outputs", "of_bytes", "message"),
    [
        (["codes"], ["codes"], "The outputs are codes."),
        (["codes", "logits"], ["codes", "logits"], "The outputs are codes, logits."),
        (["codes", "reconstructions"], ["codes"], "different outputs"),
    ],
)
def test_foreign_outputs_are_refused(tmp_path, outputs, of_bytes, message):
    def signature(spec, names):
        return tf.function(
            lambda **_: {name: tf.zeros((1, 2)) for name in names}
        ).get_concrete_function(**{spec.name: spec})

    images = tf.TensorSpec((None, 4, 4, 1), tf.float32, "images")
    encoded = tf.TensorSpec((None,), tf.string, "image_bytes")
    signatures = {
        "serving_default": signature(images, outputs),
        "serve_bytes": signature(encoded, of_bytes),
    }
    tf.saved_model.save(tf.Module(), str(tmp_path / "net" / "1"), signatures=signatures)
    with pytest.raises(errors.CorruptError, match=message):
        load_saved_model(tmp_path)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((1, 12, 12, 1)), r"\(batch >= 1, 12, 12, 3\), got \(1, 12, 12, 1\)"),
        (np.zeros((0, 12, 12, 3)), r"got \(0, 12, 12, 3\)"),
        (1.0, r"got \(\)"),
        ([[1, 2], [3]], "must be an array"),
    ],
)
def test_predict_refuses_bad_images(loaded, images, message):
    with pytest.raises(errors.UsageError, match=message):
        loaded.predict(images)


@pytest.mark.parametrize(
    ("encoded", "message"),
    [
        ([], "must be a list"),
        ("photo.png", "must be a list"),
        ([1], "must be a list"),
        ([b"no image"], "^serve_bytes: The file is neither PNG nor JPEG$"),
    ],
)
def test_predict_bytes_refuses_bad_files(loaded, encoded, message):
    with pytest.raises(errors.UsageError, match=message):
        loaded.predict_bytes(encoded)
