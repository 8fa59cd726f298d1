"""A plan's checks and choices; a trial's config, folder and names."""

import dataclasses
import runpy
import shlex
from pathlib import Path

import pytest

from elu_zoo import errors
from elu_zoo.bin import config as config_flag
from elu_zoo.paper.run.spec import BUDGETS, Plan, Trial
from elu_zoo.training.config import as_dict, config_hash
from elu_zoo.training.recorder import Observe

TRIAL = Trial("mnist_depth", "hidden_layers=3", "short", "relu", 7)


def plan(budget="short", activations=None, seeds=None):
    return Plan(budget, activations, seeds, Path("runs"))


def of(**changes):
    return dataclasses.replace(TRIAL, **changes)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"budget": "ful"}, "Unknown budget 'ful'. Did you mean 'full'"),
        ({"budget": "Short"}, "Did you mean 'short'.*Known: smoke, short, full"),
        ({"seeds": 0}, "seeds is >= 1. Received: 0"),
        ({"seeds": -1}, "Received: -1"),
    ],
)
def test_refusals_of_a_plan(arguments, words):
    with pytest.raises(errors.UsageError, match=words):
        plan(**arguments)


def test_arms():
    assert plan().arms("elu", "relu") == ("elu", "relu")
    asked = plan(activations=["tanh", "elu", "my_own"])
    assert asked.arms("elu", "relu") == ("tanh", "elu", "my_own")


@pytest.mark.parametrize(("budget", "seeds"), [("smoke", 1), ("short", 5), ("full", 9)])
def test_runs(budget, seeds):
    assert list(plan(budget).runs(1, 5, 9)) == list(range(seeds))
    assert list(plan(budget, seeds=3).runs(1, 5, 9)) == [0, 1, 2]


@pytest.mark.parametrize(("i", "budget"), list(enumerate(BUDGETS)))
def test_what_belongs_to_a_budget(i, budget):
    values = (None, False, "long")
    assert plan(budget).of(*values) is values[i]
    assert plan(budget).smoke == (budget == "smoke")


def test_a_config_has_the_arguments():
    config = TRIAL.load()
    assert config.name == "mnist_depth-3" and config.model.hidden_layers == 3
    assert (config.model.activation.name, config.seed) == ("relu", 7)
    assert not config.model.batch_norm and not config.smoke
    assert of(batch_norm=True).load().model.batch_norm
    assert of(activation="tanh").load().model.activation.name == "tanh"
    assert of(budget="smoke").load().smoke and not of(budget="full").load().smoke


def test_a_config_without_arguments():
    assert of(config="mnist_mlp_8x128", arguments="").load().seed == 7


def test_changes_of_a_config():
    changes = ("train.epochs", 3), ("data.train_examples", 100), ("seed", 1)
    config = of(changes=changes).load()
    assert (config.train.epochs, config.data.train_examples) == (3, 100)
    assert config.seed == 1
    assert TRIAL.load().train.epochs == 40  # nobody else's config is changed


@pytest.mark.parametrize("key", ["train.epoch", "trian.epochs"])
def test_a_change_of_what_a_config_does_not_have(key):
    """It would change nothing but the hash."""
    with pytest.raises((errors.UsageError, KeyError), match="Did you mean"):
        of(changes=((key, 3),)).load()


@pytest.mark.parametrize(
    "changes",
    [
        {"config": "mnist_mlp_8x128", "arguments": ""},
        {"arguments": "hidden_layers=4"},
        {"activation": "elu"},
        {"seed": 8},
        {"batch_norm": True},
        {"budget": "smoke"},
        {"changes": (("train.epochs", 3),)},
    ],
)
def test_other_configs_have_other_hashes_and_folders(changes):
    other = of(**changes)
    assert other.hash != TRIAL.hash
    assert other.folder(plan()) != TRIAL.folder(plan())


@pytest.mark.parametrize(
    "changes",
    [
        {"observe": Observe(losses=True, test_every=5)},
        {"variant": "three"},
        {"budget": "full"},
        {"changes": (("train.epochs", 40),)},  # as it is
    ],
)
def test_the_same_config_has_the_same_hash_and_folder(changes):
    other = of(**changes)
    assert other.hash == TRIAL.hash == config_hash(TRIAL.load())[:8]
    assert other.folder(plan()) == TRIAL.folder(plan())


@pytest.mark.parametrize(
    "changes",
    [
        {"activation": "elu"},
        {"batch_norm": True},
        {"changes": (("train.epochs", 3),)},
        {"observe": Observe(losses=True, test_every=5)},
    ],
)
def test_arms_are_of_a_config_and_of_what_is_kept(changes):
    assert of(**changes).arm_hash != TRIAL.arm_hash
    assert of(**changes, seed=3).arm_hash == of(**changes).arm_hash
    assert len(TRIAL.arm_hash) == 8 and of(seed=0).arm_hash == TRIAL.arm_hash


def test_folders():
    folder = Path("runs/mnist_depth-3") / f"relu-s7-{TRIAL.hash}"
    assert TRIAL.folder(plan()) == folder
    normalised = of(batch_norm=True, config="elu_cifar_11", arguments="schedule=fast")
    name = f"elu_cifar_11-cifar100-fast30/relu_bn-s7-{normalised.hash}"
    assert normalised.folder(plan()) == Path("runs") / name


def test_keys():
    assert of(batch_norm=True, variant="lr 1").key == {
        "budget": "short",
        "activation": "relu",
        "batch_norm": "True",
        "variant": "lr 1",
        "seed": "7",
        "epochs": "40",
        "arm": of(batch_norm=True).arm_hash,
    }
    assert (TRIAL.key["batch_norm"], TRIAL.key["variant"]) == ("False", "")


def test_labels():
    assert TRIAL.label == "mnist_depth, relu, seed 7"
    label = of(batch_norm=True, variant="lr 1").label
    assert label == "mnist_depth, lr 1, relu + batch norm, seed 7"


def test_the_command_makes_the_config():
    trial = of(changes=(("train.epochs", 3), ("train.learning_rates", (0.1,))))
    command = shlex.split(trial.command)
    config = config_flag.resolved(command)[1].removeprefix("--config=")
    path, _, arguments = config.partition(":")
    found = runpy.run_path(path)["get_config"](arguments)
    assert command[2:] == [
        "--config.train.epochs=3",
        "--config.train.learning_rates=(0.1,)",
    ]
    found.train.epochs, found.train.learning_rates = 3, (0.1,)
    assert as_dict(found) == as_dict(trial.load())
