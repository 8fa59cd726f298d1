"""Configs have the fields of config_table.json, and are valid."""

import pytest
from config_table import TABLE, changed_fields
from fake_runs import get_config

from elu_zoo import registry
from elu_zoo.bin.config import installed
from elu_zoo.training.config import resolve
from elu_zoo.training.config_checks import check_config, check_run

IMAGES = {"imagenet2012": 1_281_167, "mnist_5k": 3_500}
COMPLETE = [call for call in TABLE if not call.startswith("finetune")]  # without --data


@pytest.mark.parametrize("call", TABLE)
def test_arguments_change_only_the_listed_fields(call):
    assert changed_fields(call) == TABLE[call]


def test_every_config_is_in_the_table():
    assert TABLE.keys() >= set(installed())


@pytest.mark.parametrize("call", COMPLETE)
def test_configs_are_valid(call):
    name, _, arguments = call.partition(":")
    config = get_config(name, arguments)
    check_config(config)
    default = 50_000 if config.data.get("train_on_validation") else 45_000
    examples = config.data.train_examples or IMAGES.get(config.data.name, default)
    check_run(resolve(config).config, examples // config.train.batch_size * config.train.epochs, 1)
    if name == "table1_baselines":
        network = registry.entry(config.model.name)
        assert config.model.activation.name == network.default("activation")
