"""The CIFAR configs: differences of the two networks, phases, and recorded errors."""

import pytest
from fake_runs import flat, get_config, loader, observe

from elu_zoo import training, zoo
from elu_zoo.data import load


def small(name, arg=""):
    """Returns a smoke config of 20 iterations."""
    config = get_config(name, f"{arg},smoke=True")
    config.update_from_flattened_dict({"model.width": 0.01, "train.batch_size": 10})
    config.data.train_examples = 100
    return config


@pytest.mark.parametrize("arg", ["", "activation=relu,seed=3", "dataset=cifar10"])
@pytest.mark.parametrize("smoke", [False, True])
def test_fields_of_elu_cifar_18_that_differ_from_elu_cifar_11(smoke, arg):
    dataset = arg.partition("dataset=")[2] or "cifar100"
    rates = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.0]
    expected = {
        "name": f"elu_cifar_18-{dataset}",
        "schedule_epochs": 510,
        "model.name": "elu_cifar_18",
        "train.epochs": 2 if smoke else 510,
        "train.boundaries": [4] if smoke else [35_000],
        "train.learning_rates": [0.01, 0.001],
        "train.phase_boundaries": [8, 14] if smoke else [165_000, 215_000],
        "train.dropout": [rates, rates, [0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.75, 0]],
        "train.dropout_placement": ["last", "all", "all"],
    }
    elu_cifar_11, elu_cifar_18 = (
        get_config(name, f"{arg},smoke={smoke}") for name in ("elu_cifar_11", "elu_cifar_18")
    )
    assert flat(elu_cifar_18) == {**flat(elu_cifar_11), **expected}


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
