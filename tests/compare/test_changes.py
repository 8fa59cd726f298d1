"""Configs of runs differ from the compared config in the expected fields only."""

import importlib

import pytest

from elu_zoo import errors
from elu_zoo.compare import changes
from elu_zoo.configs import elu_cifar_11, elu_cifar_18, quickstart
from elu_zoo.data import load
from elu_zoo.training.config import as_dict, differences, resolve
from elu_zoo.training.config_checks import check_run
from elu_zoo.training.run import Length

CONFIGS = (
    "elu_cifar_11",
    "elu_cifar_11:schedule=quick,epochs=8",
    "elu_cifar_18",
    "mnist_autoencoder",
    "mnist_mlp_8x128",
    "table1_baselines:net=nin",
    "table1_baselines:net=highway_19,schedule=quick,epochs=10",
)


def changed(before, after):
    """Returns the names of the fields that differ between two configs."""
    return {x.partition(":")[0] for x in differences(as_dict(before), as_dict(after))}


def test_a_run_with_the_values_of_the_config_has_an_equal_config():
    config = quickstart.get_config()
    same = changes.of_run(config, "elu", 0, 1.0, tuning=False)
    assert as_dict(same) == as_dict(config)


def test_a_run_sets_activation_seed_and_learning_rates():
    config = elu_cifar_11.get_config("schedule=quick,epochs=8")
    run = changes.of_run(config, "relu", 3, 2.0, tuning=False)
    assert (run.model.activation.name, run.seed) == ("relu", 3)
    assert run.train.learning_rates == (0.0, 0.04, 0.0)
    fields = {"model.activation.name", "seed", "train.learning_rates"}
    assert changed(config, run) == fields


def test_tuning_reads_validation_images_only():
    config = elu_cifar_18.get_config()
    run = changes.of_run(config, "elu", 10_000, 1.0, tuning=True)
    assert not run.data.train_on_validation and not run.data.measure_test
    assert config.data.train_on_validation and config.data.measure_test
    # 50,000 images make 500 iterations an epoch.
    total = 500 * config.train.epochs
    assert run.train.boundaries == tuple(b / total for b in config.train.boundaries)
    assert all(0 < share < 1 for share in run.train.phase_boundaries)


def test_a_short_run_keeps_the_shape_of_its_schedule():
    config = elu_cifar_11.get_config()
    short = changes.shortened(config)
    assert short.train.epochs == config.train.epochs // 5
    assert 0 < short.train.boundaries[0] < short.train.boundaries[-1] < 1
    assert changed(config, short) == {"train.epochs", "train.boundaries"}


def test_boundaries_of_unknown_data_are_refused():
    config = elu_cifar_11.get_config()
    config.data.name = "photos/"
    with pytest.raises(errors.UsageError, match="shares of the run.*35000, 85000"):
        changes.shortened(config)


@pytest.mark.parametrize("text", CONFIGS)
@pytest.mark.parametrize("smoke", [False, True])
@pytest.mark.parametrize("short", [False, True])
def test_runs_of_installed_configs_are_valid(text, smoke, short):
    name, _, arguments = text.partition(":")
    module = importlib.import_module(f"elu_zoo.configs.{name}")
    config = module.get_config(",".join(filter(None, [arguments, f"smoke={smoke}"])))
    config = changes.shortened(config) if short else config
    for tuning in (False, True):
        run = resolve(changes.of_run(config, "silu", 1, 2.0, tuning=tuning)).config
        images = load.training_images(run.data.name, run.data.train_on_validation)
        count = run.data.train_examples or images
        length = Length(count, run.train.batch_size, run.train.epochs)
        check_run(run, length.total, replicas=1)


def test_the_command_has_a_flag_for_each_changed_field():
    config = quickstart.get_config()
    run = changes.of_run(config, "relu", 2, 0.5, tuning=False)
    assert changes.command("train --config=quickstart", config, run) == (
        "train --config=quickstart --config.seed=2 "
        "--config.model.activation.name=relu '--config.train.learning_rates=(0.025,)'"
    )
