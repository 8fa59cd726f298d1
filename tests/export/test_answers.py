"""Exports of autoencoders, and which models an export takes."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.export import answers
from elu_zoo.export.saved_model import (
    Autoencoder,
    export_saved_model,
    load_saved_model,
)

READOUTS = ["sigmoid", "linear"]
SHAPE = (4, 4, 1)


@pytest.mark.parametrize("readout", READOUTS)
def test_signatures(autoencoders, autoencoder_exports, readout):
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
def test_outputs(autoencoder_exports, expected, readout):
    loaded = load_saved_model(autoencoder_exports / readout)
    assert loaded.class_names == ()
    images = np.random.default_rng(3).integers(0, 256, (5, *loaded.image_shape))
    images = images.astype(np.uint8)
    reference = expected(readout, images.astype("float32"))
    for found in (
        loaded.predict(images),
        loaded.predict_bytes([tf.io.encode_png(i).numpy() for i in images]),
    ):
        assert set(found) == set(reference)
        for name, values in reference.items():
            assert found[name].dtype == np.float32
            np.testing.assert_allclose(found[name], values, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("readout", READOUTS)
def test_folder(autoencoders, autoencoder_exports, readout):
    path = autoencoder_exports / readout / "1"
    assert not list(path.glob("assets/*"))
    stored = sum(file.stat().st_size for file in path.glob("variables/*"))
    weights = sum(v.numpy().nbytes for v in autoencoders[readout].weights)
    assert weights <= stored <= 1.1 * weights + 2_000
    content = (path / "saved_model.pb").read_bytes()
    assert b"elu_zoo" not in content and b"/tmp/" not in content


def test_model_stays_as_it_was(autoencoders, autoencoder_exports):
    model = autoencoders["sigmoid"]
    assert not model.compiled and len(model.outputs) == 1
    assert len(model.get_layer("code")._inbound_nodes) == 1


def test_reduced_precision(tmp_path):
    model = autoencoder(keras.layers.Dense(8, dtype="mixed_bfloat16", name="code"))
    path = export_saved_model(model, tmp_path, name="net", autoencoder=DESCRIBED)
    found = load_saved_model(path).predict(np.zeros((1, *SHAPE)))
    assert {values.dtype for values in found.values()} == {np.dtype(np.float32)}


def autoencoder(*layers, shape=SHAPE, pixels=16, out=SHAPE):
    flat = [keras.Input(shape), keras.layers.Flatten(), *layers]
    end = [keras.layers.Dense(pixels), keras.layers.Reshape(out)]
    return keras.Sequential([*flat, *end], name="net")


def code(units=3):
    return keras.layers.Dense(units, name="code")


def two_codes():
    x = keras.Input((16,))
    both = keras.Model(x, [keras.layers.Dense(2)(x), keras.layers.Dense(3)(x)])
    both.name = "code"
    image = keras.Input(SHAPE)
    first, _ = both(keras.layers.Flatten()(image))
    return keras.Model(
        image, keras.layers.Reshape(SHAPE)(keras.layers.Dense(16)(first))
    )


def code_of_another_model():
    layer = code()
    autoencoder(layer)
    return autoencoder(layer)


def classifier():
    return keras.Sequential(
        [keras.Input(SHAPE), keras.layers.Flatten(), keras.layers.Dense(2)]
    )


DESCRIBED = Autoencoder("code", "sigmoid", 1 / 255)


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        (classifier, {}, "autoencoder for an autoencoder; got none of them"),
        (
            classifier,
            {"class_names": ["a", "b"], "autoencoder": DESCRIBED},
            "class_names for a classifier, .* got both",
        ),
        (
            lambda: autoencoder(code()),
            {"class_names": ["a"]},
            r"one output \(batch, classes\), .*an autoencoder by autoencoder",
        ),
        (classifier, {"autoencoder": DESCRIBED}, "output of the same shape"),
        (
            lambda: autoencoder(code(), out=(2, 8, 1)),
            {"autoencoder": DESCRIBED},
            r"of the same shape, got \[\(None, 4, 4, 1\)\] to \[\(None, 2, 8, 1\)\]",
        ),
        (
            lambda: autoencoder(code(), shape=(4, 4, 2), pixels=32, out=(4, 4, 2)),
            {"autoencoder": DESCRIBED},
            "1 or 3",
        ),
        ("net.keras", {"autoencoder": DESCRIBED}, "one image input"),
        (
            lambda: autoencoder(code()),
            {"autoencoder": Autoencoder("cod", "linear", 1)},
            "Unknown layer of net 'cod'. Did you mean 'code'",
        ),
        (
            lambda: keras.Sequential(
                [keras.Input(SHAPE), keras.layers.Conv2D(1, 1, name="code")]
            ),
            {"autoencoder": DESCRIBED},
            r"\(batch, units\), the layer 'code' has \[\(None, 4, 4, 1\)\]",
        ),
        (
            two_codes,
            {"autoencoder": DESCRIBED},
            r"one output .*'code' has \[\(None, 2\), \(None, 3\)\]",
        ),
        (
            code_of_another_model,
            {"autoencoder": DESCRIBED},
            "'code' was part of another model before",
        ),
        (
            lambda: autoencoder(code()),
            {"autoencoder": "code"},
            r"must be an Autoencoder\(code, readout, scale\), got 'code'",
        ),
    ],
)
def test_unfit(tmp_path, model, arguments, message):
    model = model() if callable(model) else model
    with pytest.raises(errors.UsageError, match=message):
        export_saved_model(model, tmp_path / "exports", name="net", **arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("code", "sigmoyd", 1), "Unknown readout 'sigmoyd'. Did you mean 'sigmoid'"),
        (("code", "softmax", 1), "Known: sigmoid, linear"),
        (("code", "linear", 0), "above 0, got 0"),
        (("code", "linear", -1.0), "above 0"),
        (("code", "linear", float("nan")), "finite"),
        (("code", "linear", float("inf")), "finite"),
        (("code", "linear", None), "got None"),
    ],
)
def test_description_is_checked(arguments, message):
    with pytest.raises(errors.UsageError, match=message):
        Autoencoder(*arguments)


def test_pixels_leave_nothing(tmp_path):
    model = autoencoder(code())
    pixels = keras.layers.Activation("sigmoid")(model.outputs[0])
    model = keras.Model(model.inputs[0], pixels)
    with pytest.raises(errors.UsageError, match="classifier_activation=None"):
        export_saved_model(model, tmp_path / "e", name="net", autoencoder=DESCRIBED)
    assert not list(tmp_path.iterdir())


def test_answer_takes_raw_images(autoencoders, expected):
    model = autoencoders["sigmoid"]
    answer = answers.make(model, None, DESCRIBED)
    assert answer.image_shape == (12, 12, 3) and answer.class_names == ()
    images = np.random.default_rng(0).uniform(0, 255, (2, 12, 12, 3)).astype("float32")
    reference = expected("sigmoid", images)
    for name, values in answer(images).items():
        np.testing.assert_allclose(values, reference[name], rtol=1e-5, atol=1e-3)
