"""Training of a network that a user registered, with arguments of its own."""

import signal

import keras
import pytest

from elu_zoo import errors, registry, user_module
from elu_zoo.activations import table
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
    kernel_decay=0.25,
    dropout=0.5,
    units=4,
    copies=None,
    unseeded=False,
):
    image = x = keras.Input(input_shape)
    for layer in preprocessing_layers(preprocessing) if preprocessing else ():
        x = layer(x)
    x = keras.layers.Dense(units * (copies or 1))(keras.layers.Flatten()(x))
    x = Dropout(dropout, seed=None if unseeded else seed, name="drop")(x)
    return keras.Model(image, keras.layers.Dense(num_classes, name="classifier")(x))


@pytest.fixture
def config(smoke, restored_models):
    registry.register_model(training_only=("dropout",))(own_network)
    with smoke({"model.name": "own_network", "train.epochs": 1}).unlocked() as config:
        return config


def test_arguments_of_the_builder_are_fields_of_the_config(config, train, tmp_path):
    config.model.dropout, config.model.units, config.model.copies = 0.25, 7, 2
    entry = train(config, tmp_path / "run")
    assert entry["arguments"]["units"] == 7
    assert entry["arguments"]["kernel_decay"] == 0.25  # the builder's default, not our neutral 0
    assert "dropout" not in entry["arguments"]
    assert entry["config"]["model"]["dropout"] == 0.25
    assert entry["parameters"] == 785 * 14 + 15 * 10


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("unseeded", True, "drop needs a seed"),
        ("units", 7.5, "type int"),
        ("unit", 7, "'model.units'"),
    ],
)
def test_wrong_arguments_are_refused(config, train, tmp_path, key, value, words):
    config.model[key] = value
    with pytest.raises(errors.UsageError, match=words):
        train(config, tmp_path / "run")


def test_changed_code_of_an_own_activation_is_reported(
    config, train, tmp_path, monkeypatch, caplog, stop_after
):
    monkeypatch.setattr(table, "_table", dict(table._table))
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "own_wave.py"
    path.write_text(
        "import keras\nimport elu_zoo\n@elu_zoo.register_activation\n"
        "def wave(x):\n    return keras.ops.sin(x)\n"
    )
    user_module.load(str(path))
    config.model.activation.name, config.model.name = "wave", "mnist_mlp_8x128"
    stop_after(4, lambda: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(errors.Interrupted):
        train(config, tmp_path / "run", steps_per_call=1)
    path.write_text(path.read_text().replace("sin", "cos"))
    entry = train(config, tmp_path / "run")
    assert "has changed since the run" in caplog.text
    (change,) = entry["config_changes"]
    assert change.startswith("after iteration 4: code: ")
    assert change.endswith(f" -> {entry['code']}")
    caplog.clear()
    assert train(config, tmp_path / "run") == entry and "changed" not in caplog.text
    path.write_text(path.read_text().replace("cos", "tan"))
    assert train(config, tmp_path / "run") == entry
    assert "Pass another --workdir" in caplog.text
