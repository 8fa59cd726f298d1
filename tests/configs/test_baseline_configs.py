"""Arguments of the config `table1_baselines` change the expected fields."""

from importlib import resources

import pytest
from fake_runs import get_config

from elu_zoo import errors
from elu_zoo.configs import table1_baselines
from elu_zoo.configs.table1_baselines import NETS

NAME = "table1_baselines"


@pytest.mark.parametrize(
    ("arg", "words"),
    [
        ("net=nim", "Unknown net 'nim'. Did you mean 'nin'"),
        ("schedule=quik", "Unknown schedule 'quik'. Did you mean 'quick'"),
        ("epochs=3", "schedule=quick. Received: schedule=paper"),
    ],
)
def test_wrong_arguments_raise_a_usage_error(arg, words):
    with pytest.raises(errors.UsageError, match=words):
        get_config(NAME, arg)


def test_the_card_and_the_recipes_list_every_network():
    card = table1_baselines.__doc__.replace("\n", "")
    assert f"net ({', '.join(NETS)})" in card
    recipes = resources.files("elu_zoo.configs").joinpath("results", "baselines.md")
    assert all(f"\n## {net}\n" in recipes.read_text() for net in NETS)
