"""get_model for autoencoders: activations of the output, and errors."""

import keras
import numpy as np
import pytest

import elu_zoo
from elu_zoo import errors

WIDTH = 0.1


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (3, 28, 28, 1), "uint8")


@pytest.mark.parametrize("activation", ["sigmoid", "linear"])
def test_an_untrained_autoencoder_can_have_either_output_activation(activation, images):
    arguments = {"width": WIDTH, "preprocessing": True}
    logits = elu_zoo.get_model("mnist_autoencoder", **arguments)(images)
    model = elu_zoo.get_model("mnist_autoencoder", classifier_activation=activation, **arguments)
    expected = keras.activations.get(activation)(logits)
    np.testing.assert_allclose(np.asarray(model(images)), np.asarray(expected))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"classifier_activation": "softmax"}, "'sigmoid' or 'linear', .*ed: 'softmax"),
        (
            {"num_classes": 5},
            "is an autoencoder and has no classes. Remove num_classes",
        ),
        ({"preprocesing": True}, "mean 'preprocessing'.*Known: .*weights"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(errors.UsageError, match=message):
        elu_zoo.get_model("mnist_autoencoder", **arguments)


def test_the_loss_of_weights_determines_the_output_activation():
    arguments = {"weights": "mnist", "num_classes": None}
    with pytest.raises(errors.UsageError, match="must be 'sigmoid', .* is pixels in"):
        elu_zoo.get_model("mnist_autoencoder", classifier_activation="linear", **arguments)
