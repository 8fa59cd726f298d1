"""The MNIST configs differ from each other, and from the paper, as their cards say."""

import keras
import pytest
from fake_runs import flat, get_config, loader

from elu_zoo import registry, training, zoo
from elu_zoo.data import load
from elu_zoo.training.config_checks import check_config

# config: (a similar config, fields that differ, further fields that differ with
# smoke=True).
VARIANTS = {
    "quickstart": (
        "mnist_mlp_8x128",
        {
            "name": "quickstart",
            "schedule": "ours",
            "schedule_epochs": 30,
            "data.name": "mnist_5k",
            "train.learning_rates": [0.05],
            "train.epochs": 30,
            "train.checkpoint_every": 500,
        },
        {"train.epochs": 2, "train.checkpoint_every": 10, "data.train_examples": 640},
    ),
    "mnist_mlp_5x256": (
        "mnist_mlp_8x128",
        {
            "name": "mnist_mlp_5x256",
            "schedule_epochs": 200,
            "model.name": "mnist_mlp_5x256",
            "train.epochs": 200,
        },
        {"train.epochs": 2},
    ),
    "mnist_autoencoder": (
        "mnist_mlp_8x128",
        {
            "name": "mnist_autoencoder",
            "schedule_epochs": 500,
            "model.name": "mnist_autoencoder",
            "train.epochs": 500,
            "train.loss": "sigmoid_cross_entropy",
            "train.learning_rates": [0.001],
            "train.evaluate_every": 5,
        },
        {"train.epochs": 2, "train.evaluate_every": 1},
    ),
    "mnist_autoencoder_mse": (
        "mnist_autoencoder",
        {
            "name": "mnist_autoencoder_mse",
            "train.loss": "half_squared_error",
            "train.learning_rates": [0.0001],
        },
        {},
    ),
}
AUTOENCODERS = ("mnist_autoencoder", "mnist_autoencoder_mse")


@pytest.mark.parametrize("arg", ["", "activation=relu,seed=3,batch_norm=True"])
@pytest.mark.parametrize("smoke", [False, True])
@pytest.mark.parametrize("name", VARIANTS)
def test_fields_that_differ_from_a_similar_config(name, smoke, arg):
    similar, differing, smoke_fields = VARIANTS[name]
    arg = f"{arg},smoke={smoke}"
    expected = {**flat(get_config(similar, arg)), **differing}
    expected |= smoke_fields if smoke else {}
    assert flat(get_config(name, arg)) == expected
    check_config(get_config(name, arg))


def test_the_autoencoders_are_trained_by_their_losses(tmp_path, monkeypatch):
    monkeypatch.setattr(load, "load", loader((28, 28, 1), classes=10))
    losses = set()
    for name in AUTOENCODERS:
        config = get_config(name, "smoke=True")
        config.model.width, config.data.train_examples, config.train.epochs = 0.05, 64, 1
        entry = training.train(config, tmp_path / name, compile="off")
        assert (entry["model"], entry["step"]) == ("mnist_autoencoder", 1)
        losses.add(entry["metrics"]["test_loss"])
    assert len(losses) == 2


@pytest.mark.parametrize("arg", ["", "smoke=True,seed=2,"])
@pytest.mark.parametrize("name", AUTOENCODERS)
def test_another_learning_rate_changes_the_name(name, arg):
    default = flat(get_config(name, arg))
    for rate in (1e-2, 1e-3, 1e-4, 1e-5):
        config = get_config(name, f"{arg}learning_rate={rate}")
        is_default = default["train.learning_rates"] == [rate]
        folder = name if is_default else f"{name}-lr{rate:g}"
        changes = {"name": folder, "train.learning_rates": [rate]}
        assert flat(config) == {**default, **changes}
        check_config(config)


@pytest.mark.parametrize(
    ("name", "epochs", "rate", "units"),
    [
        ("mnist_mlp_8x128", 300, 0.01, [128] * 8 + [10]),
        ("mnist_mlp_5x256", 200, 0.01, [256] * 5 + [10]),
        ("mnist_autoencoder", 500, 1e-3, [1000, 500, 250, 30, 250, 500, 1000, 784]),
    ],
)
def test_the_default_has_the_settings_of_paper_section_4_1(name, epochs, rate, units):
    """Settings that the paper omits are the defaults of its authors' framework."""
    config = get_config(name)
    assert (config.schedule, config.data.name) == ("paper", "mnist")
    train = config.train.to_dict()
    assert train["batch_size"] == 64
    assert train["epochs"] == config.schedule_epochs == epochs
    assert train["learning_rates"] == (rate,) and train["boundaries"] == ()
    assert (train["momentum"], train["precision"]) == (0, "float32")
    assert config.model.width == 1 and config.data.train_examples == 0
    assert config.train.loss == registry.entry(config.model.name).loss
    model = zoo.get_model(config.model.name, preprocessing=False)
    dense = [x.units for x in model.layers if isinstance(x, keras.layers.Dense)]
    assert dense == units


@pytest.mark.slow
def test_the_quickstart_reaches_the_error_of_its_card(tmp_path):
    entry = training.train(get_config("quickstart"), tmp_path)
    assert entry["metrics"]["test_error_percent"] < 9
