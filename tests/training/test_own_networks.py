"""Training of a network that a user registered, with arguments of its own."""

import keras
import pytest

from elu_zoo import errors, registry
from elu_zoo.layers import Dropout, preprocessing_layers


def own_network(
    activation="elu",
    *,
    batch_norm=False,
    num_classes=10,
    input_shape=(28, 28, 1),
    width=1.0,
    seed=0,
    preprocessing=None,
    dropout=0.5,
    units=4,
    copies=None,
):
    image = x = keras.Input(input_shape)
    for layer in preprocessing_layers(preprocessing) if preprocessing else ():
        x = layer(x)
    x = keras.layers.Dense(units * (copies or 1))(keras.layers.Flatten()(x))
    x = Dropout(dropout, seed=seed, name="drop")(x)
    return keras.Model(image, keras.layers.Dense(num_classes, name="classifier")(x))


@pytest.fixture
def config(smoke, monkeypatch):
    monkeypatch.setattr(registry, "_MODELS", dict(registry._MODELS))
    registry.register_model(own_network)
    with smoke().unlocked() as config:
        config.model.name = "own_network"
        config.train.epochs = 1
        return config


def test_arguments_of_the_builder_are_fields_of_the_config(config, train, tmp_path):
    config.model.dropout, config.model.units, config.model.copies = 0.25, 7, 2
    entry = train(config, tmp_path / "run")
    assert entry["arguments"]["units"] == 7
    # Dropout acts in training only, so that the entry needs no rate.
    assert "dropout" not in entry["arguments"]
    assert entry["config"]["model"]["dropout"] == 0.25
    assert entry["parameters"] == 785 * 14 + 15 * 10


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("units", 7.5, "model.units must be of type int. Received: 7.5"),
        ("unit", 7, "Unknown config entry 'model.unit'. .*'model.units'"),
    ],
)
def test_wrong_arguments_are_refused(config, train, tmp_path, key, value, words):
    config.model[key] = value
    with pytest.raises(errors.UsageError, match=words):
        train(config, tmp_path / "run")
