"""get_model, list_models and model_info: names, weights, features and errors."""

import keras
import numpy as np
import published_weights as made_weights
import pytest
from image_files import noise, png

import elu_zoo
from elu_zoo import errors

MODEL = made_weights.MODEL
WIDTH = made_weights.WIDTH


def assert_weights_of(model, trained, layers):
    """Checks that layers have weights of another model, rounded to float16."""
    for name in layers:
        pairs = zip(*(m.get_layer(name).weights for m in (model, trained)), strict=True)
        for weight, expected in pairs:
            np.testing.assert_array_equal(np.asarray(weight), np.float16(expected))


def test_list_models_selects_by_name_and_weights(published):
    assert elu_zoo.list_models("elu_c*") == ["elu_cifar_11", "elu_cifar_18"]
    for pretrained in True, "letters":
        assert elu_zoo.list_models(pretrained=pretrained) == [MODEL]
        assert elu_zoo.list_models("nin", pretrained=pretrained) == []


def test_model_info_counts_parameters():
    info = elu_zoo.model_info(MODEL, num_classes=3, input_shape=(4, 4, 2))
    assert info.multiply_accumulates == 32 * 128 + 7 * 128 * 128 + 128 * 3
    assert info.parameters == info.multiply_accumulates + 8 * 128 + 3


AUTOENCODER = "mnist_autoencoder"
SOFTMAX = {"classifier_activation": "softmax"}


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        (MODEL, {"features": "dense9"}, "Unknown layer of mnist.*mean 'dense[1-8]'.*Known"),
        (MODEL, {"features": "flatten", "include_top": False}, "exclude each other"),
        (MODEL, {"features": "flatten", **SOFTMAX}, "exclude each other"),
        (MODEL, {"include_top": False, **SOFTMAX}, "exclude each other"),
        (AUTOENCODER, {"num_classes": 5}, "argument of mnist_autoencoder 'num_classes'.*Known"),
    ],
)
def test_wrong_arguments_are_refused(name, arguments, words):
    with pytest.raises(errors.UsageError, match=words):
        elu_zoo.get_model(name, **arguments)


def test_none_means_the_default():
    model = elu_zoo.get_model(MODEL, num_classes=None, activation=None, width=WIDTH)
    assert model.output_shape == (None, 10)
    assert type(model.get_layer("act_dense1")) is elu_zoo.ELU


@pytest.mark.parametrize(
    ("cut", "layers"),
    [
        ({"features": "dense2"}, "dense2"),
        ({"features": ["flatten", "act_dense8"]}, ["flatten", "act_dense8"]),
        ({"include_top": False}, "act_dense8"),  # the input of the classifier
    ],
)
def test_cuts_return_the_outputs_of_layers(images, cut, layers):
    uncut = elu_zoo.get_model(MODEL, width=WIDTH)
    model = elu_zoo.get_model(MODEL, width=WIDTH, **cut)
    assert model.name == MODEL and "classifier" not in [layer.name for layer in model.layers]
    outputs = model(images)
    for name in [layers] if isinstance(layers, str) else layers:
        value = outputs if isinstance(layers, str) else outputs[name]
        expected = keras.Model(uncut.input, uncut.get_layer(name).output)(images)
        np.testing.assert_array_equal(np.asarray(value), np.asarray(expected))


@pytest.mark.parametrize(
    ("name", "activation", "function"),
    [
        (MODEL, "softmax", lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
        (AUTOENCODER, "linear", lambda x: x),
    ],
)
def test_classifier_activation_is_applied_to_logits(images, name, activation, function):
    model = elu_zoo.get_model(name, width=WIDTH, classifier_activation=activation)
    logits = np.asarray(elu_zoo.get_model(name, width=WIDTH)(images), np.float64)
    np.testing.assert_allclose(np.asarray(model(images)), function(logits), rtol=1e-5, atol=1e-6)
    assert model.layers[-1].name == "predictions"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"weights": "mnist", "activation": "relu"}, "relu"),
        ({"weights": "mnist", "batch_norm": True, "width": 0.1}, "elu_bn"),
        ({"weights": "letters"}, "letters"),
    ],
)
def test_weights_are_loaded(made, published, images, arguments, name):
    model, trained = elu_zoo.get_model(MODEL, **arguments), made[name][2]
    assert_weights_of(model, trained, ["dense1", "dense8", "classifier"])
    np.testing.assert_allclose(np.asarray(model(images)), np.asarray(trained(images)), atol=0.02)


def test_only_a_model_of_another_activation_than_the_default_warns(
    made, images, tmp_path, monkeypatch, caplog
):
    made_weights.publish(monkeypatch, tmp_path, made["relu"])
    model = elu_zoo.get_model(MODEL, weights=made["relu"][0]["tag"])
    assert_weights_of(model, made["relu"][2], ["dense1", "classifier"])
    elu_zoo.get_model(MODEL, weights="mnist", activation="relu")
    elu_zoo.preprocess_input(images, MODEL, "mnist")
    elu_zoo.decode_predictions(model(images), MODEL, "mnist")
    elu_zoo.load_image(png(noise(28, 28)), MODEL, "mnist")
    assert "activation" not in caplog.text
    elu_zoo.get_model(MODEL, weights="mnist")
    assert "no 'mnist' weights with elu, its default activation. Those with relu" in caplog.text
