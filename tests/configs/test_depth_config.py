"""The config mnist_depth sets the number of hidden layers of mnist_mlp_8x128."""

import pytest
from fake_runs import get_config, loader

from elu_zoo import errors, training, zoo
from elu_zoo.data import load
from elu_zoo.models import cost


@pytest.mark.parametrize("layers", [1, 8])
def test_the_network_has_the_configured_number_of_layers(tmp_path, monkeypatch, layers):
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
def test_a_wrong_number_of_layers_raises_a_usage_error(layers):
    words = f"hidden_layers must be an integer >= 1. Received: {layers!r}"
    with pytest.raises(errors.UsageError, match=words):
        zoo.get_model("mnist_mlp_8x128", hidden_layers=layers)
