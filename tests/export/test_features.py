"""The signature `features`: images to the input of the classifier layer."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import elu_zoo
from elu_zoo import errors
from elu_zoo.export import answers, checks, predictor, signatures
from elu_zoo.export.saved_model import export_saved_model

SHAPE = (16, 16, 3)
DIGITS = list("0123456789")


def served(path):
    saved = tf.saved_model.load(str(path))
    return saved, saved.signatures["features"]  # which saved keeps alive


def zoo_model(name, **arguments):
    return elu_zoo.get_model(name, preprocessing=False, **arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("mnist_mlp_8x128", {"width": 0.1}),
        ("elu_cifar_11", {"width": 0.05, "num_classes": 10}),
        # A map of more than one pixel before the 1 x 1 convolution.
        (
            "elu_cifar_11",
            {"width": 0.05, "num_classes": 10, "input_shape": (64, 96, 3)},
        ),
    ],
)
def test_features_are_the_input_of_the_classifier(name, arguments, tmp_path):
    model = zoo_model(name, **arguments)
    images = np.random.default_rng(5).uniform(0, 1, (3, *model.input_shape[1:]))
    images = images.astype(np.float32)
    body = zoo_model(name, include_top=False, **arguments)(images).numpy()
    expected = body.mean((1, 2)) if body.ndim == 4 else body
    path = export_saved_model(
        model, tmp_path, name="net", class_names=DIGITS, classifier="classifier"
    )
    _, features = served(path)
    (spec,) = features.structured_input_signature[1].values()
    assert spec == tf.TensorSpec((None, *model.input_shape[1:]), tf.float32, "images")
    found = features(images=tf.constant(images))
    assert list(found) == ["features"] and found["features"].dtype == tf.float32
    assert features.structured_outputs["features"].shape == (None, body.shape[-1])
    limit = 1e-5 * max(1, np.abs(expected).max())
    np.testing.assert_allclose(found["features"], expected, rtol=0, atol=limit)


@pytest.mark.parametrize(
    "images", [(0, *SHAPE), (1, 2), (1, 5, 16, 3), (1, 16, 16, 1)], ids=str
)
def test_bad_requests_are_refused(images):
    model = keras.Sequential(
        [
            keras.Input(SHAPE),
            keras.layers.Conv2D(4, 3),
            keras.layers.GlobalMaxPooling2D(),
            keras.layers.Dense(2, name="head"),
        ]
    )
    answer = answers.make(model, ["a", "b"], None, "head")
    features = signatures.endpoints(answer)["features"]
    with pytest.raises(tf.errors.InvalidArgumentError):
        features(images=tf.zeros(images))


def test_none_without_a_known_classifier(autoencoder_exports, tmp_path):
    model = zoo_model("mnist_mlp_8x128", width=0.05)
    paths = [
        autoencoder_exports / "linear" / "1",
        export_saved_model(model, tmp_path, name="net", class_names=DIGITS),
    ]
    for path in paths:
        saved = tf.saved_model.load(str(path))
        assert set(saved.signatures) == {"serving_default", "serve_bytes"}


def test_another_name_of_the_classifier():
    model = zoo_model("mnist_mlp_8x128", width=0.05)
    with pytest.raises(errors.UsageError, match="Did you mean 'classifier'"):
        answers.make(model, DIGITS, None, "clasifier")
    renamed = keras.Model(model.input, keras.layers.Dense(10, name="top")(model.output))
    renamed.get_layer("classifier").name = "other"
    described = predictor.description(renamed, "mnist_mlp_8x128")
    assert described["classifier"] is None


def test_other_features_do_not_pass():
    model = zoo_model("mnist_mlp_8x128", width=0.05)
    answer = answers.make(model, DIGITS, None, "classifier")

    def with_error(outputs):
        return {name: value + 0.01 for name, value in outputs.items()}

    functions = signatures.endpoints(answer)
    features = functions["features"]
    functions["features"] = lambda images: with_error(features(images=images))
    with pytest.raises(errors.EluZooError, match="features of the signature features"):
        checks.check_parity(answer, functions)
