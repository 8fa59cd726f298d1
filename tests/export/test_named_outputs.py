"""Answers: exports of autoencoders, and the models that an export accepts."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.export import named_outputs
from elu_zoo.export.saved_model import Autoencoder, export_saved_model, load_saved_model

READOUTS = ["sigmoid", "linear"]
SHAPE = (4, 4, 1)


@pytest.mark.parametrize("readout", READOUTS)
def test_signatures_of_an_autoencoder(autoencoders, autoencoder_exports, readout):
    saved = tf.saved_model.load(str(autoencoder_exports / readout / "1"))
    shape = (None, *autoencoders[readout].input_shape[1:])
    inputs = {
        "serving_default": tf.TensorSpec(shape, tf.float32, "images"),
        "serve_bytes": tf.TensorSpec((None,), tf.string, "image_bytes"),
    }
    for signature, spec in inputs.items():
        function = saved.signatures[signature]
        assert function.structured_input_signature[1] == {spec.name: spec}
        outputs = function.structured_outputs
        assert {name: (o.dtype, tuple(o.shape)) for name, o in outputs.items()} == {
            "reconstructions": (tf.float32, shape),
            "codes": (tf.float32, (None, 5)),
        }


@pytest.mark.parametrize("readout", READOUTS)
def test_outputs_agree_with_keras(autoencoder_exports, expected, readout):
    loaded = load_saved_model(autoencoder_exports / readout)
    assert loaded.class_names == ()
    images = np.random.default_rng(3).integers(0, 256, (5, *loaded.image_shape))
    images = images.astype(np.uint8)
    reference = expected(readout, images.astype("float32"))
    encoded = tf.stack([tf.io.encode_png(i) for i in images])
    for outputs in loaded.predict(images), loaded.run("serve_bytes", image_bytes=encoded):
        assert set(outputs) == set(reference)
        for name, values in reference.items():
            assert outputs[name].dtype == np.float32
            np.testing.assert_allclose(outputs[name], values, rtol=1e-5, atol=1e-3)


def test_outputs_of_reduced_precision_are_float32():
    model = autoencoder(keras.layers.Dense(8, dtype="mixed_bfloat16", name="code"))
    outputs = named_outputs.make(model, None, DESCRIBED)(np.zeros((1, *SHAPE)))
    assert {values.dtype for values in outputs.values()} == {tf.float32}
    assert len(model.outputs) == 1


def test_labels_are_the_names_of_the_classes(tmp_path, monkeypatch):
    network = classifier()
    arguments = {"name": "net", "class_names": ("nought", "ünø")}
    images = np.random.default_rng(0).integers(0, 256, (40, *SHAPE)).astype(np.float32)
    largest = np.asarray(network(images)).argmax(-1)
    export_saved_model(network, tmp_path, **arguments)
    labels = load_saved_model(tmp_path / "net").predict(images)["labels"]
    assert [label.decode() for label in labels] == [arguments["class_names"][i] for i in largest]

    # An earlier version exported no labels; a later one exports other outputs.
    def of_another_version(self, images):
        outputs = self.read(self.model(images, training=False))
        return outputs | {"later": outputs["logits"]}

    monkeypatch.setattr(named_outputs.NamedOutputs, "all_outputs", of_another_version)
    export_saved_model(network, tmp_path, replace=True, **arguments)
    outputs = load_saved_model(tmp_path / "net" / "2").predict(images)
    assert "labels" not in outputs and "later" in outputs


def autoencoder(*layers, out=SHAPE):
    flat = [keras.Input(SHAPE), keras.layers.Flatten(), *layers]
    end = [keras.layers.Dense(16), keras.layers.Reshape(out)]
    return keras.Sequential([*flat, *end], name="net")


def code(units=3):
    return keras.layers.Dense(units, name="code")


def two_codes():
    x = keras.Input((16,))
    both = keras.Model(x, [keras.layers.Dense(2)(x), keras.layers.Dense(3)(x)])
    both.name = "code"
    image = keras.Input(SHAPE)
    first, _ = both(keras.layers.Flatten()(image))
    return keras.Model(image, keras.layers.Reshape(SHAPE)(keras.layers.Dense(16)(first)))


def code_of_another_model():
    layer = code()
    autoencoder(layer)
    return autoencoder(layer)


def classifier():
    return keras.Sequential([keras.Input(SHAPE), keras.layers.Flatten(), keras.layers.Dense(2)])


DESCRIBED = Autoencoder("code", "sigmoid", 1 / 255)


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        (classifier, {}, "neither"),
        (classifier, {"class_names": ["a", "b"], "autoencoder": DESCRIBED}, "both"),
        (lambda: autoencoder(code()), {"class_names": ["a"]}, "classes"),
        (lambda: autoencoder(code(), out=(2, 8, 1)), {"autoencoder": DESCRIBED}, "shape"),
        ("net.keras", {"autoencoder": DESCRIBED}, "image"),
        (
            lambda: autoencoder(code()),
            {"autoencoder": Autoencoder("cod", "linear", 1)},
            "Did you mean 'code'",
        ),
        (
            lambda: keras.Sequential([keras.Input(SHAPE), keras.layers.Conv2D(1, 1, name="code")]),
            {"autoencoder": DESCRIBED},
            "units",
        ),
        (two_codes, {"autoencoder": DESCRIBED}, "one output"),
        (code_of_another_model, {"autoencoder": DESCRIBED}, "another model"),
        (lambda: autoencoder(code()), {"autoencoder": "code"}, "Autoencoder"),
    ],
)
def test_unfit_model_is_refused(model, arguments, message):
    model = model() if callable(model) else model
    arguments = {"class_names": None, "autoencoder": None, **arguments}
    with pytest.raises(errors.UsageError, match=message):
        named_outputs.make(model, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("code", "sigmoyd", 1), "Did you mean 'sigmoid'"),
        (("code", "linear", float("nan")), "finite"),
    ],
)
def test_bad_description_is_refused(arguments, message):
    with pytest.raises(errors.UsageError, match=message):
        Autoencoder(*arguments)
