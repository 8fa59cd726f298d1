"""mnist_depth: mnist_mlp_8x128 with another number of layers, for 40 epochs."""

import importlib

import pytest
from observed import flat, get_config, loader

from elu_zoo import errors, training, zoo
from elu_zoo.data import load
from elu_zoo.models import cost
from elu_zoo.training import config_checks


@pytest.mark.parametrize("smoke", [False, True])
@pytest.mark.parametrize("layers", [2, 8, 12])
def test_it_differs_from_the_papers_in_nothing_else(layers, smoke):
    arg = f"activation=relu,seed=3,batch_norm=True,smoke={smoke}"
    config = get_config("mnist_depth", f"hidden_layers={layers},{arg}")
    config_checks.check(config)
    assert flat(config) == {
        **flat(get_config("mnist_mlp_8x128", arg)),
        "name": f"mnist_depth-{layers}",
        "schedule": "fast",
        "schedule_epochs": 40,
        "model.hidden_layers": layers,
        "train.epochs": 2 if smoke else 40,
    }


@pytest.mark.parametrize("layers", [1, 8])
def test_the_network_has_that_many_layers(tmp_path, monkeypatch, layers):
    monkeypatch.setattr(load, "load", loader((28, 28, 1), classes=10))
    config = get_config("mnist_depth", f"hidden_layers={layers},smoke=True")
    config.model.width, config.data.train_examples = 0.0625, 64
    entry = training.train(config, tmp_path, compile="off")
    assert entry["parameters"] == 784 * 8 + 8 + (layers - 1) * 72 + 90
    assert entry["arguments"]["hidden_layers"] == layers
    (weights,) = tmp_path.glob("*.weights.h5")
    model = zoo.get_model("mnist_mlp_8x128", weights=weights)
    assert cost.parameters(model) == entry["parameters"]


@pytest.mark.parametrize("layers", [0, -1, 2.0, "8"])
def test_refused_numbers_of_layers(layers):
    words = f"hidden_layers is an integer >= 1. Received: {layers!r}"
    with pytest.raises(errors.UsageError, match=words):
        zoo.get_model("mnist_mlp_8x128", hidden_layers=layers)


@pytest.mark.parametrize(
    ("arg", "words"),
    [
        ("hidden_layer=1", "Did you mean 'hidden_layers'"),
        ("hidden_layers=x", "hidden_layers is of type int"),
    ],
)
def test_refused_arguments(arg, words):
    with pytest.raises(errors.UsageError, match=words):
        get_config("mnist_depth", arg)


def test_docstring_is_the_experiments_card():
    card = importlib.import_module("elu_zoo.configs.mnist_depth").__doc__
    assert "elu-zoo-train --config=mnist_depth" in card and "\nPaper: " in card
    assert "\nArguments: hidden_layers, activation, seed, batch_norm, smoke\n" in card
