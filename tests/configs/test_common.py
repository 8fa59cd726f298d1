"""The base config, and that every config builds on it."""

import importlib
import inspect
from collections import Counter

import pytest
from observed import flat

from elu_zoo.bin.config import installed
from elu_zoo.configs import common

GROUPS = (
    *(common.base, common.phases, common.kernels, common.stacks),
    *(common.encoded_images, common.pretrained, common.baselines),
)


def test_each_field_is_written_once():
    found = Counter(key for group in GROUPS for key in flat(group()))
    assert set(common.LATER) <= found.keys() and max(found.values()) == 1


@pytest.mark.parametrize("name", installed())
def test_a_config_builds_on_the_base(name):
    module = importlib.import_module(f"elu_zoo.configs.{name}")
    assert flat(common.base()).keys() <= flat(module.get_config()).keys()
    assert inspect.getsource(module).count("get_config") == 1  # of no other config


@pytest.mark.parametrize("name", installed())
def test_cards_are_short(name):
    module = importlib.import_module(f"elu_zoo.configs.{name}")
    assert len(module.__doc__.splitlines()) <= 25
