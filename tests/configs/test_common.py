"""Promises of every config: base fields, shared arguments, and a card."""

import importlib
import inspect
import re
from collections import Counter

import pytest
from observed import flat

from elu_zoo import errors
from elu_zoo.bin.config import installed
from elu_zoo.configs import common
from elu_zoo.training import config_checks

MODULES = {
    name: importlib.import_module(f"elu_zoo.configs.{name}") for name in installed()
}
GROUPS = (
    *(common.base, common.phases, common.kernels, common.stacks),
    *(common.encoded_images, common.pretrained, common.baselines),
)


def test_each_field_is_written_once():
    found = Counter(key for group in GROUPS for key in flat(group()))
    assert set(common.LATER) <= found.keys() and max(found.values()) == 1


def known_arguments(module):
    with pytest.raises(errors.UsageError) as caught:
        module.get_config("=")
    return re.findall(r"\w+", str(caught.value).partition("Known: ")[2])


@pytest.mark.parametrize("name", MODULES)
def test_a_config_builds_on_the_base(name):
    module = MODULES[name]
    assert flat(common.base()).keys() <= flat(module.get_config()).keys()
    assert inspect.getsource(module).count("get_config") == 1  # no other config's


@pytest.mark.parametrize("name", MODULES)
def test_card(name):
    card = MODULES[name].__doc__
    assert len(card.splitlines()) <= 25
    assert f"elu-zoo-train --config={name}" in card and "\nPaper: " in card
    section = re.search(r"\nArguments:(.*?)\nPaper", card, re.DOTALL)
    named = section[1] if section else ""
    if "those of mnist_autoencoder" in named:
        named = "activation, seed, batch_norm, learning_rate, smoke"
    named = re.sub(r"\(.*?\)", "", named, flags=re.DOTALL)
    assert re.findall(r"\w+", named) == known_arguments(MODULES[name])


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize(
    ("arg", "field", "value"),
    [
        ("activation=prelu", "model.activation.name", "prelu"),
        ("seed=3", "seed", 3),
        ("batch_norm=True", "model.batch_norm", True),
    ],
)
def test_an_argument_changes_one_field(name, arg, field, value):
    get_config = MODULES[name].get_config
    if arg.partition("=")[0] not in known_arguments(MODULES[name]):
        assert (name, arg) == ("finetune", "batch_norm=True")
        return
    config, default = get_config(arg), get_config()
    assert flat(config) == {**flat(default), field: value} != flat(default)
    if name != "finetune":  # data.name is missing
        config_checks.check(config)


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize(
    ("arg", "words"),
    [
        ("sead=1", "Unknown config argument 'sead'. Did you mean 'seed'"),
        ("smoke=1", "smoke is of type bool"),
    ],
)
def test_refused_arguments(name, arg, words):
    with pytest.raises(errors.UsageError, match=words):
        MODULES[name].get_config(arg)
