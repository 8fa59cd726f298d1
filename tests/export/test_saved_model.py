"""Exports of classifiers as SavedModels."""

import os
import resource

import keras
import numpy as np
import pytest
import tensorflow as tf
from odd_layers import CallsPython, Differs

from elu_zoo import errors
from elu_zoo.activations import ELU, elu_xla
from elu_zoo.export import checks, versions
from elu_zoo.export.saved_model import export_saved_model, load_saved_model

INPUTS = {
    "serving_default": ("images", tf.float32, (None, 12, 12, 3)),
    "serve_bytes": ("image_bytes", tf.string, (None,)),
}


def small(shape=(4, 4, 1), *layers):
    classifier = [keras.layers.Flatten(), keras.layers.Dense(2)]
    return keras.Sequential([keras.Input(shape), *layers, *classifier])


def export(directory, model=None, **arguments):
    arguments = {"name": "net", "class_names": ("a", "b"), **arguments}
    return export_saved_model(model or small(), directory, **arguments)


@keras.saving.register_keras_serializable("tests")
class LooksUp(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        entries = tf.lookup.KeyValueTensorInitializer([0], [1.0])
        # Inside a lambda, TensorFlow does not find the table and cannot save it.
        table = tf.lookup.StaticHashTable(entries, 0.0)
        self.factor = lambda: table.lookup(tf.constant(0))

    def call(self, inputs):
        return inputs * self.factor()


def test_a_home_folder_is_expanded_and_a_misspelt_signature_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert export("~/e") == tmp_path / "e" / "net" / "1"
    assert (tmp_path / "e" / "models.config").is_file()
    with pytest.raises(errors.UsageError, match="Did you mean 'serving_default'"):
        load_saved_model("~/e").run("serving_defalt")


@pytest.mark.parametrize("signature", INPUTS)
def test_signature_declares_names_types_and_shapes(exports, signature):
    saved = tf.saved_model.load(str(exports / "colour" / "1"))
    function = saved.signatures[signature]
    name, dtype, shape = INPUTS[signature]
    (spec,) = function.structured_input_signature[1].values()
    assert (spec.name, spec.dtype, tuple(spec.shape)) == (name, dtype, shape)
    outputs = function.structured_outputs
    expected = {
        "logits": (tf.float32, (None, 4)),
        "probabilities": (tf.float32, (None, 4)),
        "classes": (tf.int64, (None,)),
        "labels": (tf.string, (None,)),
    }
    found = {name: (o.dtype, tuple(o.shape)) for name, o in outputs.items()}
    assert expected.items() <= found.items()


@pytest.mark.parametrize("name", ["colour", "grey"])
def test_outputs_agree_with_keras(models, exports, name):
    loaded = load_saved_model(exports / name)
    shape = loaded.image_shape
    images = np.random.default_rng(3).integers(0, 256, (5, *shape), np.uint8)
    expected = models[name].predict(images.astype("float32"), verbose=0)
    named_outputs = loaded.predict(images)
    encoded = tf.stack([tf.io.encode_png(i) for i in images])
    from_files = loaded.run("serve_bytes", image_bytes=encoded)
    np.testing.assert_allclose(named_outputs["logits"], expected, rtol=1e-5, atol=1e-5)
    exponents = np.exp(expected - expected.max(-1, keepdims=True))
    softmax = exponents / exponents.sum(-1, keepdims=True)
    np.testing.assert_allclose(named_outputs["probabilities"], softmax, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(named_outputs["classes"], expected.argmax(-1))
    labels = [loaded.class_names[index].encode() for index in expected.argmax(-1)]
    assert named_outputs.pop("labels").tolist() == from_files["labels"].tolist() == labels
    for output in named_outputs:
        np.testing.assert_allclose(from_files[output], named_outputs[output], rtol=1e-6)


@pytest.mark.parametrize("name", ["colour", "grey"])
def test_every_variable_is_stored_once(models, exports, name):
    path = exports / name / "1"
    stored = sum(file.stat().st_size for file in path.glob("variables/*"))
    total = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    weights = sum(variable.numpy().nbytes for variable in models[name].weights)
    assert weights <= stored <= 1.1 * weights + 2_000
    assert total <= 1.1 * weights + 130_000


def test_export_writes_only_the_expected_files(exports):
    version = exports / "colour" / "1"
    paths = {str(path.relative_to(version)) for path in version.rglob("*") if path.is_file()}
    variables = "variables/variables."
    assert paths == {
        "saved_model.pb",
        "fingerprint.pb",
        variables + "index",
        variables + "data-00000-of-00001",
        "assets/labels.txt",
        "assets.extra/elu_zoo.json",
        "assets.extra/tf_serving_warmup_requests",
    }
    labels = (version / "assets" / "labels.txt").read_bytes()
    assert labels.decode() == "plane\ncañon\nbird\ndeer\n"
    assert [path.name for path in version.parent.iterdir()] == ["1"]
    assert {path.name for path in exports.iterdir()} == {"colour", "grey", "models.config"}
    assert version.stat().st_mode & 0o777 == 0o755
    graph = (version / "saved_model.pb").read_bytes()
    for local in os.path.expanduser("~"), "elu_zoo", "/tmp/":
        assert local.encode() not in graph


def test_version_is_new_and_the_model_is_not_changed(tmp_path):
    model = small()
    before = model.get_weights()
    assert export(tmp_path, model) == tmp_path / "net" / "1"
    assert not model.compiled
    np.testing.assert_equal(model.get_weights(), before)
    for version in (0, -1, 1.0, True, "2", 2**63):
        with pytest.raises(errors.UsageError, match="version"):
            export(tmp_path, version=version)
    assert export(tmp_path, version=7, replace=True) == tmp_path / "net" / "7"
    for ignored in ("notes", str(2**63)):
        (tmp_path / "net" / ignored).mkdir()
    with pytest.raises(errors.EluZooError, match="differ"):
        export(tmp_path, small((4, 4, 1), Differs()), replace=True)
    assert versions.new_version(tmp_path / "net", None).name == "8"


TWO_INPUTS = [keras.Input((4, 4, 1)), keras.Input((4, 4, 1))]


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        (None, {"class_names": ["a"]}, "classes"),
        (None, {"class_names": "ab"}, "list"),
        (None, {"class_names": ["a", "b\nc"]}, "line"),
        (None, {"class_names": ["a", 1]}, "line"),
        (None, {"name": "../net"}, "name"),
        (None, {"name": "12"}, "name"),
        (None, {"name": "models.config"}, "name"),
        (None, {"name": None}, "name"),
        (small((4,)), {}, "image"),
        (small((None, 4, 1), keras.layers.GlobalMaxPooling2D()), {}, "fixed"),
        (keras.Sequential([keras.Input((4, 4, 1)), keras.layers.Dense(2)]), {}, "output"),
        (keras.Model(TWO_INPUTS, small()(sum(TWO_INPUTS))), {}, "image"),
        (keras.Sequential([keras.layers.Dense(2)]), {}, "image"),
        ("net.keras", {}, "image"),
        (keras.Sequential([small(), keras.layers.Softmax()]), {}, "classifier_activation"),
    ],
)
def test_usage_errors_leave_no_files(tmp_path, model, arguments, message):
    with pytest.raises(errors.UsageError, match=message):
        export(tmp_path / "exports", model, **arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (Differs, "differ"),
        (CallsPython, "PyFunc"),
        (lambda: keras.layers.Activation(elu_xla), "XLA"),
        (LooksUp, "lookup"),
        (lambda: keras.layers.Rescaling(float("inf")), "finite"),
    ],
)
def test_failed_check_leaves_no_files(tmp_path, layer, message):
    model = small((4, 4, 1), layer())
    with pytest.raises(errors.EluZooError, match=message):
        export(tmp_path / "exports", model)
    assert not list(tmp_path.iterdir())


def test_version_is_hidden_until_it_is_checked(tmp_path, monkeypatch):
    seen = []

    def check(directory, function):
        seen.extend(path.name for path in (tmp_path / "net").iterdir())
        assert (directory / "saved_model.pb").exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(checks, "check", check)
    with pytest.raises(KeyboardInterrupt):
        export(tmp_path)
    (hidden,) = seen
    assert hidden.startswith(".1.")
    assert not list(tmp_path.iterdir())


def test_full_disk_leaves_no_files(tmp_path):
    model = small((4, 4, 1), keras.layers.Flatten(), keras.layers.Dense(4000))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(errors.ResourceError, match="exports"):
            export(tmp_path / "exports", model)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.iterdir())


def test_directory_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "exports").write_text("not a folder")
    with pytest.raises(errors.ResourceError, match="exports"):
        export(tmp_path / "exports")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "float64"])
def test_other_precisions_return_float32_logits(tmp_path, dtype):
    convolution = keras.layers.Conv2D(16, 3, dtype=dtype)
    loaded = load_saved_model(export(tmp_path, small((8, 8, 3), convolution, ELU())))
    assert loaded.predict(np.zeros((1, 8, 8, 3)))["logits"].dtype == np.float32
