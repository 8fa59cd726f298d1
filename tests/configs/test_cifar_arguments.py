"""Arguments of the CIFAR configs change the expected fields and no other field."""

import numpy as np
import pytest
from fake_runs import flat, get_config, loader

from elu_zoo import errors, training
from elu_zoo.data import load
from elu_zoo.training.config import resolve
from elu_zoo.training.config_checks import check_config, check_run

# Fields that the arguments schedule=quick (QUICK), smoke=True (SMOKE) and validation=True
# (VALIDATION) change.
QUICK = {
    "name": "elu_cifar_11-cifar100-quick30",
    "schedule": "quick",
    "schedule_epochs": 30,
    "train.epochs": 30,
    "train.nesterov": True,
    "train.boundaries": [2250],
    "train.learning_rate_shape": "linear",
    "model.init_scale": 1.0,
    "model.kernel_decay": 0.0,
    "train.optimizer": "muon",
    "train.sgd_factor": 5.0,
    "train.sgd_decay": 0.0005,
    "train.learning_rates": [0.0, 0.02, 0.0],
    "train.dropout": [[0.0, 0.025, 0.05, 0.075, 0.1, 0.125, 0.0]],
}
SMOKE = {
    "smoke": True,
    "model.width": 0.1,
    "data.train_examples": 1000,
    "train.epochs": 2,
    "train.checkpoint_every": 5,
}
VALIDATION = {"data.train_on_validation": False}


def with_name_suffix(suffix, **entries):
    return {"name": f"elu_cifar_11-cifar100{suffix}", **entries}


@pytest.mark.parametrize(
    ("arg", "differing"),
    [
        ("dataset=cifar100", {}),
        ("dataset=cifar10", {"name": "elu_cifar_11-cifar10", "data.name": "cifar10"}),
        ("schedule=paper,epochs=330", {}),
        (
            "epochs=70",
            {
                **with_name_suffix("-paper70"),
                **{"train.epochs": 70, "train.boundaries": []},
                "train.learning_rates": [0.01],
            },
        ),
        (
            "epochs=171",
            {
                **with_name_suffix("-paper171"),
                **{"train.epochs": 171, "train.boundaries": [35_000, 85_000]},
                "train.learning_rates": [0.01, 0.005, 0.0005],
            },
        ),
        ("validation=True", {**with_name_suffix("-validation"), **VALIDATION}),
        (
            "validation=True,epochs=78",  # 35,100 iterations, 100 after a boundary
            {
                **with_name_suffix("-paper78-validation"),
                **VALIDATION,
                **{"train.epochs": 78, "train.boundaries": [35_000]},
                "train.learning_rates": [0.01, 0.005],
            },
        ),
        (
            "schedule=quick,validation=True",
            {
                **QUICK,
                **with_name_suffix("-quick30-validation"),
                **VALIDATION,
                "train.boundaries": [2025],
            },
        ),
        ("schedule=quick", QUICK),
        (
            "schedule=quick,epochs=100",
            {
                **QUICK,
                **with_name_suffix("-quick100"),
                **{"schedule_epochs": 100, "train.epochs": 100, "data.cutout": 8},
                "train.boundaries": [7500],
                "train.dropout": [[0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.0]],
            },
        ),
        (
            "dropout_placement=before_pooling,padding=valid,init_scale=1",
            {
                **with_name_suffix("-init1-before_pooling-valid"),
                "train.dropout_placement": ["before_pooling"],
                **{"model.padding": "valid", "model.init_scale": 1.0},
            },
        ),
        ("smoke=True", {**SMOKE, "train.boundaries": [4, 8, 12]}),
        ("smoke=True,schedule=quick", {**QUICK, **SMOKE, "train.boundaries": [3]}),
    ],
)
def test_arguments_change_only_the_listed_fields(arg, differing):
    config = get_config("elu_cifar_11", arg)
    assert flat(config) == {**flat(get_config("elu_cifar_11")), **differing}
    check_config(config)
    images = 50_000 if config.data.train_on_validation else 45_000
    examples = config.data.train_examples or images
    check_run(resolve(config).config, examples // 100 * config.train.epochs, 1)


def test_the_argument_padding_changes_the_name_and_one_field():
    differing = {"name": "elu_cifar_18-cifar100-same", "model.padding": "same"}
    config = flat(get_config("elu_cifar_18", "padding=same"))
    assert config == {**flat(get_config("elu_cifar_18")), **differing}


def test_quick_of_the_large_network_is_that_of_the_small_one():
    changed = {"name", "model.name", "model.padding", "train.dropout"}
    arg = "schedule=quick,epochs=100"
    large = flat(get_config("elu_cifar_18", f"{arg},padding=same"))
    small = flat(get_config("elu_cifar_11", arg))
    assert {key for key in large if large[key] != small[key]} == changed
    assert large["name"] == "elu_cifar_18-cifar100-same-quick100"
    assert large["train.dropout"] == [[0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.25, 0.0]]
    check_config(get_config("elu_cifar_18", f"{arg},padding=same"))


@pytest.mark.parametrize(
    ("name", "iterations"), [("elu_cifar_11", 165_000), ("elu_cifar_18", 255_000)]
)
def test_the_default_is_the_schedule_of_paper_sections_4_2_and_4_3(name, iterations):
    config = get_config(name)
    assert (config.schedule, config.data.name) == ("paper", "cifar100")
    assert (config.model.width, config.model.kernel_decay) == (1, 0.0005)
    assert (config.model.padding, config.model.init_scale) == ("caffe", 2)
    data, train = config.data.to_dict(), config.train.to_dict()
    assert (data["augmentation"], data["train_examples"]) == ("pad_crop_flip", 0)
    assert data["train_on_validation"] is True and train["batch_size"] == 100
    assert train["epochs"] == config.schedule_epochs
    assert 500 * train["epochs"] == iterations
    assert (train["momentum"], train["nesterov"]) == (0.9, False)
    assert train["learning_rate_shape"] == "steps"
    check_config(config)
    check_run(resolve(config).config, iterations, 1)
    schedule = train["boundaries"], train["learning_rates"]
    if name == "elu_cifar_11":
        rates = 0.01, 0.005, 0.0005, 0.00005
        assert schedule == ((35_000, 85_000, 135_000), rates)
        assert train["phase_boundaries"] == ()
        assert train["dropout"] == ((0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.0),)
        assert train["dropout_placement"] == ("last",)
        return
    assert schedule == ((35_000,), (0.01, 0.001))
    lengths = np.diff([0, *train["phase_boundaries"], iterations])
    assert lengths.tolist() == [165_000, 50_000, 40_000]
    rates = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.0)
    np.testing.assert_allclose(train["dropout"], np.outer((1, 1, 1.5), rates))
    assert train["dropout_placement"] == ("last", "all", "all")


@pytest.mark.parametrize(
    ("name", "arg", "words"),
    [
        ("elu_cifar_11", "schedule=papr", "Unknown schedule 'papr'. .* 'paper'"),
        ("elu_cifar_18", "epochs=9", "Only schedule=quick.*epochs=9"),
        ("elu_cifar_18", "schedule=quik", "Unknown schedule 'quik'. .* 'quick'"),
        ("elu_cifar_11", "epochs=-1", "train.epochs must be >= 1. Received: -1"),
        ("elu_cifar_11", "dataset=cifar11", "set 'cifar11'. Did you mean 'cifar1"),
        (
            *("elu_cifar_18", "padding=sane,smoke=True"),
            "Unknown padding 'sane'. Did you mean 'same'",
        ),
    ],
)
def test_wrong_arguments_raise_before_the_run_starts(name, arg, words, tmp_path, monkeypatch):
    """Either `get_config` or `train` raises the error."""
    if "padding" in arg:
        random_data = loader((32, 32, 3), classes=10, images="cifar10")
        monkeypatch.setattr(load, "load", random_data)
    with pytest.raises(errors.UsageError, match=words):
        config = get_config(name, arg)
        config.data.train_examples = 100
        config.train.batch_size = 10
        training.train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
