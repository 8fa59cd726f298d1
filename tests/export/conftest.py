"""Models and their exports, which the tests of this folder share."""

import keras
import numpy as np
import pytest

from elu_zoo.activations import ELU
from elu_zoo.export.saved_model import Autoencoder, export_saved_model
from elu_zoo.layers import ZCAWhitening, statistics_file

CLASS_NAMES = ("plane", "cañon", "bird", "deer")


def make_model(shape, activation=ELU):
    """Returns a conv net on raw images with batch normalization and dropout."""
    keras.utils.set_random_seed(1)
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input(shape),
            layers.Rescaling(1 / 64, offset=-2),
            layers.Conv2D(32, 3),
            layers.BatchNormalization(),
            activation(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(2048, bias_initializer="normal"),
            activation(),
            layers.Dropout(0.5),
            layers.Dense(len(CLASS_NAMES), bias_initializer="normal", name="head"),
        ]
    )
    model.layers[2].moving_mean.assign([0.5] * 32)
    return model


def make_autoencoder(shape, scale):
    """Returns a dense autoencoder with batch normalization and dropout."""
    keras.utils.set_random_seed(2)
    layers = keras.layers
    pixels = shape[0] * shape[1] * shape[2]
    model = keras.Sequential(
        [
            keras.Input(shape),
            layers.Rescaling(scale),
            layers.Flatten(),
            layers.Dense(512),
            layers.BatchNormalization(),
            ELU(),
            layers.Dropout(0.5),
            layers.Dense(5, bias_initializer="normal", name="code"),
            layers.Dense(pixels, bias_initializer="normal"),
            layers.Reshape(shape),
        ],
        name="autoencoder",
    )
    model.layers[3].moving_mean.assign([0.5] * 512)
    return model


AUTOENCODERS = {
    "sigmoid": Autoencoder("code", "sigmoid", 1 / 255),
    "linear": Autoencoder("code", "linear", 1 / 64),
}


@pytest.fixture(scope="session")
def autoencoders():
    """Autoencoders by the name of their readout."""
    shapes = {"sigmoid": (12, 12, 3), "linear": (6, 5, 1)}
    return {
        readout: make_autoencoder(shapes[readout], description.scale)
        for readout, description in AUTOENCODERS.items()
    }


@pytest.fixture(scope="session")
def autoencoder_exports(autoencoders, tmp_path_factory):
    """A folder with version 1 of each autoencoder, which tests must not change."""
    directory = tmp_path_factory.mktemp("autoencoder_exports")
    for readout, model in autoencoders.items():
        description = AUTOENCODERS[readout]
        export_saved_model(model, directory, name=readout, autoencoder=description)
    return directory


@pytest.fixture(scope="session")
def expected(autoencoders):
    """A function that returns outputs of the Keras model, with a NumPy readout."""

    def outputs(readout, images):
        model = autoencoders[readout]
        code = keras.Model(model.inputs, model.get_layer("code").output)
        values = model.predict(images, verbose=0)
        pixels = 255 / (1 + np.exp(-values)) if readout == "sigmoid" else 64 * values
        return {"reconstructions": pixels, "codes": code.predict(images, verbose=0)}

    return outputs


@pytest.fixture(scope="session")
def class_names():
    return CLASS_NAMES


@pytest.fixture(scope="session")
def models():
    return {"colour": make_model((12, 12, 3)), "grey": make_model((28, 28, 1), keras.layers.ELU)}


@pytest.fixture(scope="session")
def exports(models, tmp_path_factory):
    """A folder with version 1 of each of `models`, which tests must not change."""
    directory = tmp_path_factory.mktemp("exports")
    for name, model in models.items():
        export_saved_model(model, directory, name=name, class_names=CLASS_NAMES, classifier="head")
    return directory


@pytest.fixture
def whitening(tmp_path, monkeypatch):
    """A layer that whitens images of 16 x 16 x 3 pixels."""
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path))
    values = 16 * 16 * 3
    fitted = statistics_file.Statistics(np.zeros(values), np.eye(values))
    file = statistics_file.write(statistics_file.cache_folder(), "images", fitted)
    return ZCAWhitening(file.stem)
