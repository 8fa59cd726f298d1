"""Loading an export in Python: paths, damaged files, and bad images."""

import os
import shutil
from pathlib import Path

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
    assert loaded.class_names == class_names and loaded.image_shape == (12, 12, 3)
    for version in "10", "9":
        shutil.copytree(copy / "colour" / "1", copy / "colour" / version)
    if form != "colour/1":
        assert load_saved_model(copy / form).path.name == "10"


def test_folders_without_one_model_are_refused(tmp_path, exports):
    (tmp_path / "net" / "latest").mkdir(parents=True)
    (tmp_path / "net.keras").write_bytes(b"")
    for path, kind, word in (
        (tmp_path / "nothing", errors.NotFoundError, "exist"),
        (tmp_path, errors.UsageError, "holds"),
        (tmp_path / "net", errors.UsageError, "holds"),
        (tmp_path / "net.keras", errors.UsageError, "folder"),
        (exports, errors.UsageError, "colour, grey"),
    ):
        with pytest.raises(kind, match=word):
            load_saved_model(path)


def truncate(path):
    os.truncate(path, path.stat().st_size // 2)


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
        ("assets/labels.txt", Path.unlink),
        ("assets/labels.txt", lambda path: path.write_text("plane\n")),
    ],
)
def test_damaged_file_is_refused(copy, file, damage):
    damage(copy / "colour" / "1" / file)
    with pytest.raises(errors.CorruptError, match="damaged|regular|labels.txt"):
        load_saved_model(copy / "colour")


def test_foreign_saved_model_is_refused(tmp_path):
    tf.saved_model.save(tf.Module(), str(tmp_path / "net" / "1"))
    with pytest.raises(errors.CorruptError, match="not an export of elu_zoo"):
        load_saved_model(tmp_path)


@pytest.mark.parametrize(
    ("outputs", "of_bytes", "message"),
    [
        (["codes", "logits"], ["codes", "logits"], "codes, logits"),
        (["logits", "probabilities"], ["logits", "probabilities"], "labels.txt"),
        (["codes", "reconstructions"], ["codes"], "different"),
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


def test_bad_images_are_refused(loaded):
    for images in np.zeros((1, 12, 12, 1)), np.zeros((0, 12, 12, 3)), 1.0, [[1, 2], [3]]:
        with pytest.raises(errors.UsageError, match="12, 12, 3|array"):
            loaded.predict(images)
    with pytest.raises(errors.UsageError, match="PNG"):
        loaded.run("serve_bytes", image_bytes=tf.constant([b"no image"]))
