"""Configs of runs differ from the compared config in the expected fields only."""

import dataclasses
import importlib
import types

import numpy as np
import pytest

from elu_zoo import errors, registry
from elu_zoo.activations import table
from elu_zoo.compare import trials
from elu_zoo.compare.config import TUNING_SEED, check, with_own_files
from elu_zoo.configs import elu_cifar_11, elu_cifar_18
from elu_zoo.data import load
from elu_zoo.pairs import worker
from elu_zoo.pairs.spec import Plan
from elu_zoo.training.config import resolve
from elu_zoo.training.config_checks import check_run
from elu_zoo.training.run import Length

CONFIGS = (
    "elu_cifar_11",
    "elu_cifar_11:schedule=quick,epochs=8",
    "elu_cifar_18",
    "mnist_autoencoder",
    "table1_baselines:net=highway_19",
)


@pytest.fixture
def of_run(comparison):
    """A function that returns the config of a run."""

    def load(config, *run):
        return trials.create(dataclasses.replace(comparison, config=config), *run).load()

    return load


def test_tuning_reads_validation_images_only(of_run):
    config = elu_cifar_18.get_config()
    run = of_run(config, "elu", 1.0, TUNING_SEED)
    assert not run.data.train_on_validation and not run.data.measure_test
    assert config.data.train_on_validation and config.data.measure_test
    total = 500 * config.train.epochs  # 50,000 images make 500 iterations an epoch
    assert run.train.boundaries == tuple(b / total for b in config.train.boundaries)
    assert all(0 < share < 1 for share in run.train.phase_boundaries)


def test_paired_seeds_start_at_that_of_the_config(comparison):
    comparison.config.seed = TUNING_SEED - 4
    assert trials.paired(comparison, {"elu": 1.0})[-1].seed == TUNING_SEED
    with pytest.raises(errors.UsageError, match="lower seed"):
        check(comparison)


def test_a_run_has_the_warm_up_of_its_config_or_ours(of_run):
    config = elu_cifar_18.get_config()
    assert of_run(config, "elu", 1.0, TUNING_SEED).train.warmup == 0.02
    config.train.warmup = 0.1
    assert of_run(config, "elu", 1.0, 0).train.warmup == 0.1


def test_a_users_config_may_lack_neutral_fields(comparison):
    with comparison.config.unlocked() as config:
        del config.data.measure_test, config.train.boundaries, config.model.activation.alpha
        config.model.activation.name = ""  # of fine-tuning
    comparison = check(dataclasses.replace(comparison, config=trials.shortened(config)))
    assert not trials.create(comparison, "relu", 1.0, TUNING_SEED).load().data.measure_test


def test_boundaries_of_unknown_data_are_refused():
    config = elu_cifar_11.get_config()
    config.data.name = "photos/"
    with pytest.raises(errors.UsageError, match="shares"):
        trials.shortened(config)


@pytest.mark.parametrize("text", CONFIGS)
@pytest.mark.parametrize("short", [False, True])
def test_runs_of_installed_configs_are_valid(of_run, text, short):
    name, _, arguments = text.partition(":")
    config = importlib.import_module(f"elu_zoo.configs.{name}").get_config(arguments)
    config = trials.shortened(config) if short else config
    for seed in (1, TUNING_SEED):
        run = resolve(of_run(config, "silu", 2.0, seed)).config
        images = load.training_images(run.data.name, run.data.train_on_validation)
        count = run.data.train_examples or images
        length = Length(count, run.train.batch_size, run.train.epochs)
        check_run(run, length.total, replicas=1)


def test_the_command_has_a_flag_for_each_changed_field(comparison):
    assert trials.create(comparison, "relu", 0.5, 2).command == (
        "elu-zoo-train --config=quickstart --config.train.warmup=0.02 --config.seed=2 "
        "--config.model.activation.name=relu '--config.train.learning_rates=(0.025,)'"
    )


def test_a_comparison_has_the_hash_of_a_users_images(comparison, tmp_path):
    assert with_own_files(comparison) == comparison
    path, found = tmp_path / "own.npz", []
    comparison.config.data.name = str(path)
    for shade in (0, 0, 1):
        images = np.zeros((20, 28, 28, 1), "uint8")
        images[:, 0, 0, 0], images[:, 1, 1, 0] = np.arange(20), shade
        np.savez(path, x_train=images, y_train=np.arange(20) % 2)
        found.append(trials.create(with_own_files(comparison), "elu", 1, 0))
    assert found[0] == found[1] != found[2] and len({trial.hash for trial in found}) == 2


def test_runs_depend_on_a_users_file_with_their_code(comparison, tmp_path, monkeypatch):
    monkeypatch.setattr(table, "_table", dict(table._table))
    path, units = tmp_path / "compared_activations.py", tmp_path / "compared_units.py"
    units.write_text("import keras\ndef wave(x): return keras.ops.sin(x)\n")
    path.write_text("from elu_zoo import register_activation\nfrom compared_units import wave\n"
                    "register_activation('wave', wave)\n")  # fmt: skip
    comparison = dataclasses.replace(comparison, module=str(path))
    monkeypatch.syspath_prepend(tmp_path)
    comparison = dataclasses.replace(comparison, activations=("elu", "wave"))
    hashes, plan = set(), Plan("full", None, tmp_path, module=str(path))
    for changed_file in path, units, path:
        now = with_own_files(comparison)
        assert list(now.codes) == ["wave"]
        run = trials.create(now, "wave", 1, 0)
        hashes.add(run.hash)
        changed_file.write_text(changed_file.read_text() + "# changed\n")
        with pytest.raises(errors.UsageError, match="changed"):
            worker.perform(run, plan, pytest.fail)
    assert len(hashes) == 3
    network = types.SimpleNamespace(builder=print)
    monkeypatch.setattr(registry, "entry", lambda name: network)
    assert set(with_own_files(comparison).codes) == {"elu", "wave"}
