"""Every config has the base fields, the shared arguments, and a card (docstring)."""

import importlib
import inspect
import re
from importlib import resources

import pytest
from fake_runs import flat

from elu_zoo import errors
from elu_zoo.bin.config import installed
from elu_zoo.configs import common
from elu_zoo.configs.table1_baselines import NETS
from elu_zoo.training.config import resolve
from elu_zoo.training.config_checks import check_config
from elu_zoo.training.fields import FIELDS, NEUTRAL

MODULES = {name: importlib.import_module(f"elu_zoo.configs.{name}") for name in installed()}


@pytest.mark.parametrize("key, value", flat(common.base()).items())
def test_a_base_field_is_in_the_table_and_has_its_neutral_value(key, value):
    field = FIELDS[key]
    assert field.always_counts or value == NEUTRAL[key]
    assert value is None or isinstance(value, list if field.kind is tuple else field.kind)


def known_arguments(module):
    """Returns the names that the error for an unknown argument lists."""
    with pytest.raises(errors.UsageError) as caught:
        module.get_config("=")
    return re.findall(r"\w+", str(caught.value).partition("Known: ")[2])


@pytest.mark.parametrize("name", MODULES)
def test_a_config_has_the_base_fields_and_calls_no_other_get_config(name):
    module = MODULES[name]
    assert flat(common.base()).keys() <= flat(module.get_config()).keys()
    assert inspect.getsource(module).count("get_config") == 1


@pytest.mark.parametrize("name", MODULES)
def test_a_card_has_a_command_the_arguments_and_the_papers_results(name):
    card = MODULES[name].__doc__
    assert len(card.splitlines()) <= 25
    assert f"elu-zoo-train --config={name}" in card and "\nPaper: " in card
    section = re.search(r"\nArguments:(.*?)\nPaper", card, re.DOTALL)
    names = section[1] if section else ""
    names = re.sub(r"\(.*?\)", "", names, flags=re.DOTALL)
    assert re.findall(r"\w+", names) == known_arguments(MODULES[name])


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
        assert (name, arg) == ("finetune", "batch_norm=True")  # the only exception
        return
    config, default = get_config(arg), get_config()
    assert flat(config) == {**flat(default), field: value} != flat(default)
    if name != "finetune":  # finetune is invalid without the flag --data
        check_config(config)


WRONG = [
    *((name, "sead=1", "argument 'sead'. Did you mean 'seed'") for name in MODULES),
    *((name, "smoke=1", "smoke must be of type bool") for name in MODULES),
    ("elu_cifar_11", "schedule=papr", "Unknown schedule 'papr'. .* 'paper'"),
    ("elu_cifar_18", "schedule=quik", "Unknown schedule 'quik'. .* 'quick'"),
    ("elu_cifar_11", "epochs=331", "330 epochs"),
    ("elu_cifar_18", "padding=valid", "Known: caffe, same"),
    ("elu_cifar_18", "epochs=9", "Only schedule=quick.*epochs=9"),
    ("table1_baselines", "net=nim", "Did you mean 'nin'"),
    ("table1_baselines", "schedule=quik", "Did you mean 'quick'"),
    ("table1_baselines", "epochs=3", "schedule=quick. Received: schedule=paper"),
    ("finetune", "weights=", "weights must be the name of a data set"),
    ("finetune", "image_size=-1", "image_size must be an integer >= 0"),
    ("finetune", "model=elu_imagenet_15,image_size=64", "Set --config.data.image_size and"),
    ("finetune", "model=elu_cifar11,weights=none", "Did you mean"),
]


@pytest.mark.parametrize(("name", "arg", "words"), WRONG)
def test_wrong_arguments_raise_a_usage_error(name, arg, words):
    with pytest.raises(errors.UsageError, match=words):
        resolve(MODULES[name].get_config(arg))


def test_the_card_and_the_recipes_list_every_baseline():
    card = MODULES["table1_baselines"].__doc__.replace("\n", "")
    assert f"net ({', '.join(NETS)})" in card
    recipes = resources.files("elu_zoo.configs").joinpath("results", "baselines.md")
    assert all(f"\n## {net}\n" in recipes.read_text() for net in NETS)
