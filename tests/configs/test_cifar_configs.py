"""The CIFAR configs: differences of the two networks, phases, and recorded errors."""

import pytest
from fake_runs import get_config, loader, observe

from elu_zoo import training, zoo
from elu_zoo.data import load


def small(name, arg=""):
    """Returns a smoke config of 20 iterations."""
    config = get_config(name, f"{arg},smoke=True")
    config.update_from_flattened_dict({"model.width": 0.01, "train.batch_size": 10})
    config.data.train_examples = 100
    return config


def test_a_smoke_run_of_elu_cifar_18_has_three_phases(tmp_path):
    run = observe(small("elu_cifar_18", "dataset=cifar10"), tmp_path, (32, 32, 3))
    rates = {name: [each.get(name) for each in run.layers] for name in run.layers[-1]}
    assert run.rates == [0.01] * 4 + [0.001] * 16
    assert rates["stack2_drop"] == [0.1] * 14 + [0.15] * 6
    assert rates["stack2_conv1_drop"] == [0.0] * 8 + [0.1] * 6 + [0.15] * 6


@pytest.mark.parametrize(
    "name", ["elu_cifar_11", pytest.param("elu_cifar_18", marks=pytest.mark.slow)]
)
def test_the_model_with_the_weights_of_a_run_has_the_recorded_test_error(
    name, tmp_path, monkeypatch
):
    random_data = loader((32, 32, 3), classes=10, images="cifar10")
    monkeypatch.setattr(load, "load", random_data)
    entry = training.train(small(name, "dataset=cifar10"), tmp_path)
    assert entry["step"] == 20
    assert list(entry["metrics"]) == ["test_loss", "test_error_percent"]
    assert entry["arguments"] == {
        "activation": {"name": "elu", "alpha": 1.0},
        "batch_norm": False,
        "input_shape": [32, 32, 3],
        "width": 0.01,
        "padding": "caffe",
        "num_classes": 10,
    }
    model = zoo.get_model(name, weights=tmp_path)
    test = random_data("cifar10").test
    wrong = model.predict(test.images, verbose=0).argmax(1) != test.labels
    assert entry["metrics"]["test_error_percent"] == 100 * wrong.mean()
