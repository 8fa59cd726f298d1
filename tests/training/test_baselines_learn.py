"""Training of the networks of Table 1 of the paper on real images."""

import json
import signal

import numpy as np
import pytest

from elu_zoo import errors, training, zoo
from elu_zoo.configs import table1_baselines
from elu_zoo.layers import FeatureMapDropout
from elu_zoo.models import cost

# Decoding the images of CIFAR-100 takes half a minute.
pytestmark = [pytest.mark.slow, pytest.mark.data("cifar100")]
LARGE = "highway_19", "fmp"  # a run takes more than a minute
NETS = [
    pytest.param(net, marks=[pytest.mark.nightly] * (net in LARGE)) for net in table1_baselines.NETS
]


def make_config(net, schedule="quick", **entries):
    arg = f"net={net},dataset=cifar100,schedule={schedule},smoke=True"
    config = table1_baselines.get_config(arg)
    config.data.train_examples, config.train.batch_size = 200, 20
    config.model.update({"auxiliary_heads": True} if net == "dsn" else {})
    for name, value in entries.items():
        config.train[name] = value
    return config


def read_losses(workdir):
    lines = (workdir / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["train_loss"] for line in lines]


@pytest.mark.parametrize("net", NETS)
def test_the_loss_falls_and_the_weights_load_without_auxiliary_heads(net, tmp_path):
    entry = training.train(make_config(net, epochs=6), tmp_path)
    losses = read_losses(tmp_path)
    assert losses[-1] < losses[0]
    model = zoo.get_model(net, weights=tmp_path)
    images = np.zeros((2, 32, 32, 3), "uint8")
    assert model(images).shape == (2, 100)
    rates = [x.rate for x in model.layers if isinstance(x, FeatureMapDropout)]
    # The rate of fmp is that of the run; the default of its builder is 0.5.
    assert set(rates) == ({0.0} if net == "fmp" else set())
    assert cost.parameters(model) == entry["parameters"]
    if net == "dsn":
        with pytest.raises(errors.UsageError, match="another network. head1: file nothing"):
            zoo.get_model(net, weights=tmp_path, auxiliary_heads=True)


def test_a_resumed_run_drops_heads_after_the_same_iteration(tmp_path, stop_after):
    entries = {"heads_until": 0.34, "checkpoint_every": 100}
    config = make_config("dsn", **entries)
    config.data.train_examples = 60
    arguments = {"compile": "off", "steps_per_call": 1}
    unstopped = training.train(config, tmp_path / "unstopped", **arguments)
    first, second = read_losses(tmp_path / "unstopped")
    # An epoch has three iterations. The heads are active in the first two iterations of
    # the run, in which the loss is a sum over four outputs.
    chance = np.log(100)
    assert first == pytest.approx(chance * (4 + 4 + 1) / 3, rel=0.1)
    assert second == pytest.approx(chance, rel=0.1)

    stop_after(4, lambda: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(errors.Interrupted):
        training.train(config, tmp_path / "resumed", **arguments)
    resumed = training.train(config, tmp_path / "resumed", **arguments)
    assert resumed["sha256"] == unstopped["sha256"]
    assert read_losses(tmp_path / "resumed") == read_losses(tmp_path / "unstopped")
    assert "auxiliary_heads" not in unstopped["arguments"]


def test_norms_of_maxout_kernels_are_bounded(tmp_path):
    config = make_config("maxout", "paper", epochs=1)
    config.train.learning_rates = (2e3, 2e3, 2e3)
    config.data.train_examples = 60
    training.train(config, tmp_path, compile="off")
    model = zoo.get_model("maxout", weights=tmp_path)
    norms = {
        name: np.sqrt((np.asarray(model.get_layer(name).kernel) ** 2).sum((0, 1, 2)))
        for name in ("h0", "h1", "h2")
    }
    bounds = {"h0": 0.9, "h1": 1.9365, "h2": 1.9365}
    for name, bound in bounds.items():
        assert norms[name].max() < bound * 1.001, name
    assert any(norms[name].max() > 0.9 * bound for name, bound in bounds.items())
