"""Plans choose runs by budget; specs have configs, folders, hashes and names."""

import dataclasses
import runpy
import shlex
from pathlib import Path

import pytest

from elu_zoo.bin import config as config_flag
from elu_zoo.pairs.spec import BUDGETS, Plan, Trial
from elu_zoo.training.config import as_dict, dict_hash
from elu_zoo.training.record import observers

TRIAL = Trial("mnist_depth", "hidden_layers=3", "short", "relu", 7)


def plan(budget="short", seeds=None):
    return Plan(budget, seeds, Path("runs"))


def changed(**changes):
    return dataclasses.replace(TRIAL, **changes)


@pytest.mark.parametrize(("i", "budget"), list(enumerate(BUDGETS)))
def test_a_plan_chooses_by_its_budget(i, budget):
    values = (None, False, "long")
    assert plan(budget).of(*values) is values[i]
    assert plan(budget).smoke == (budget == "smoke")
    assert list(plan(budget).runs(1, 5, 9)) == list(range((1, 5, 9)[i]))
    assert list(plan(budget, seeds=3).runs(1, 5, 9)) == [0, 1, 2]


def test_the_config_has_the_values_of_the_spec():
    config = TRIAL.load()
    assert config.name == "mnist_depth-3" and config.model.hidden_layers == 3
    assert (config.model.activation.name, config.seed) == ("relu", 7)
    assert not config.model.batch_norm and not config.smoke
    assert changed(batch_norm=True).load().model.batch_norm
    assert changed(budget="smoke").load().smoke


def test_changes_apply_to_the_config_of_one_spec():
    config = changed(changes=(("train.epochs", 3), ("seed", 1))).load()
    assert (config.train.epochs, config.seed) == (3, 1)
    assert TRIAL.load().train.epochs == 40  # other specs are unchanged


@pytest.mark.parametrize(
    "changes",
    [
        {"arguments": "hidden_layers=4"},
        {"activation": "elu"},
        {"seed": 8},
        {"batch_norm": True},
        {"budget": "smoke"},
        {"changes": (("train.epochs", 3),)},
        {"code": "a hash of the user's code"},
    ],
)
def test_other_configs_have_other_hashes_and_folders(changes):
    other = changed(**changes)
    assert other.hash != TRIAL.hash
    assert other.folder(plan()) != TRIAL.folder(plan())


@pytest.mark.parametrize(
    "changes",
    [
        {"observers": (observers.Losses(),), "variant": "three", "budget": "full"},
        {"changes": (("train.epochs", 40),)},  # the value of the config
    ],
)
def test_equal_configs_have_equal_hashes_and_folders(changes):
    other = changed(**changes)
    assert other.hash == TRIAL.hash == dict_hash(as_dict(TRIAL.load()))[:8]
    assert other.folder(plan()) == TRIAL.folder(plan())


@pytest.mark.parametrize(
    "changes", [{"changes": (("train.epochs", 3),)}, {"observers": (observers.Losses(),)}]
)
def test_the_arm_hash_depends_on_all_but_the_seed(changes):
    assert changed(**changes).arm_hash != TRIAL.arm_hash
    assert changed(**changes, seed=3).arm_hash == changed(**changes).arm_hash
    assert len(TRIAL.arm_hash) == 8 and changed(seed=0).arm_hash == TRIAL.arm_hash


def test_the_folder_the_key_and_the_label_name_a_run():
    assert TRIAL.folder(plan()) == Path("runs/mnist_depth-3") / f"relu-s7-{TRIAL.hash}"
    assert TRIAL.label == "mnist_depth, relu, seed 7"
    other = changed(batch_norm=True, variant="lr 1")
    assert other.folder(plan()) == Path("runs/mnist_depth-3") / f"relu_bn-s7-{other.hash}"
    assert other.label == "mnist_depth, lr 1, relu + batch norm, seed 7"
    assert list(other.key.values()) == ["short", "relu", "True", "lr 1", "7", "40", other.arm_hash]


def test_the_command_resolves_to_the_config():
    trial = changed(changes=(("train.epochs", 3), ("train.learning_rates", (0.1,))))
    command = shlex.split(trial.command)
    config = config_flag.resolve_flag(command)[1].removeprefix("--config=")
    path, _, arguments = config.partition(":")
    resolved = runpy.run_path(path)["get_config"](arguments)
    assert command[2:] == ["--config.train.epochs=3", "--config.train.learning_rates=(0.1,)"]
    resolved.train.epochs, resolved.train.learning_rates = 3, (0.1,)
    assert as_dict(resolved) == as_dict(trial.load())
