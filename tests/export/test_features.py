"""The signature `features` returns the input of the classifier layer."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import elu_zoo
from elu_zoo import errors
from elu_zoo.export import checks, named_outputs, predictor, signatures

SHAPE = (16, 16, 3)
DIGITS = list("0123456789")


def dense():
    """Returns a classifier whose last layer reads a vector."""
    layers = [keras.layers.GlobalMaxPooling2D(), keras.layers.Dense(10, name="head")]
    return keras.Sequential([keras.Input(SHAPE), keras.layers.Conv2D(4, 3), *layers])


def convolution():
    """Returns a classifier that ends in a 1 x 1 convolution on 14 x 14 pixels."""
    head = keras.layers.Conv2D(10, 1, name="head")
    layers = [keras.layers.Conv2D(4, 3), head, keras.layers.GlobalAveragePooling2D()]
    return keras.Sequential([keras.Input(SHAPE), *layers])


@pytest.mark.parametrize("make", [dense, convolution])
def test_features_are_the_input_of_the_classifier(make):
    model = make()
    images = np.random.default_rng(5).uniform(0, 1, (3, *SHAPE)).astype(np.float32)
    body = keras.Model(model.inputs[0], model.get_layer("head").input)(images).numpy()
    expected = body.mean((1, 2)) if body.ndim == 4 else body
    function = named_outputs.make(model, DIGITS, None, "head")
    features = signatures.endpoints(function)["features"]
    (spec,), _ = features.structured_input_signature
    assert spec == tf.TensorSpec((None, *SHAPE), tf.float32, "images")
    outputs = features(images=tf.constant(images))
    assert list(outputs) == ["features"] and outputs["features"].dtype == tf.float32
    assert features.structured_outputs["features"].shape == (None, 4)
    np.testing.assert_allclose(outputs["features"], expected, rtol=1e-5, atol=1e-5)
    for shape in ((0, *SHAPE), (1, 2), (1, 5, 16, 3), (1, 16, 16, 1)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            features(images=tf.zeros(shape))


def test_no_features_without_a_classifier():
    endpoints = signatures.endpoints(named_outputs.make(dense(), DIGITS, None))
    assert set(endpoints) == {"serving_default", "serve_bytes"}


def test_unknown_classifier_suggests_the_nearest():
    model = elu_zoo.get_model("mnist_mlp_8x128", preprocessing=False, width=0.05)
    with pytest.raises(errors.UsageError, match="Did you mean 'classifier'"):
        named_outputs.make(model, DIGITS, None, "clasifier")
    renamed = keras.Model(model.input, keras.layers.Dense(10, name="top")(model.output))
    renamed.get_layer("classifier").name = "other"
    described = predictor.description(renamed, "mnist_mlp_8x128")
    assert described["classifier"] is None


def test_features_that_differ_are_refused():
    function = named_outputs.make(dense(), DIGITS, None, "head")
    functions = signatures.endpoints(function)
    features = functions["features"]
    functions["features"] = lambda images: {"features": features(images=images)["features"] + 0.01}
    with pytest.raises(errors.EluZooError, match="features of the signature features"):
        checks.check_parity(function, functions)


def test_features_of_another_backend_are_pooled():
    """Shapes of JAX and NumPy are tuples."""
    assert named_outputs._pooled(np.ones((2, 3, 3, 5), "float32")).shape == (2, 5)
