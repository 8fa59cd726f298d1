"""The MNIST configs differ from each other, and from the paper, as their cards say."""

import keras
import pytest
from fake_runs import get_config

from elu_zoo import registry, training, zoo

AUTOENCODERS = ("mnist_autoencoder", "mnist_autoencoder_mse")


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
