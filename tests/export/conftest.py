import keras
import pytest

from elu_zoo.activations import ELU
from elu_zoo.export.saved_model import export_saved_model

CLASS_NAMES = ("plane", "cañon", "bird", "deer")


def make_model(shape, activation=ELU):
    """A conv net on raw images with what an export must freeze: statistics, dropout."""
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
            layers.Dense(len(CLASS_NAMES), bias_initializer="normal"),
        ]
    )
    model.layers[2].moving_mean.assign([0.5] * 32)
    return model


@pytest.fixture(scope="session")
def class_names():
    return CLASS_NAMES


@pytest.fixture(scope="session")
def models():
    return {
        "colour": make_model((12, 12, 3)),
        "grey": make_model((28, 28, 1), keras.layers.ELU),
    }


@pytest.fixture(scope="session")
def exports(models, tmp_path_factory):
    """A folder with version 1 of each of `models`; tests do not change it."""
    directory = tmp_path_factory.mktemp("exports")
    for name, model in models.items():
        export_saved_model(model, directory, name=name, class_names=CLASS_NAMES)
    return directory
