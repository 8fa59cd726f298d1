"""Arguments of the config `table1_baselines` change the expected fields."""

from importlib import resources

import numpy as np
import pytest
from fake_runs import flat, get_config

from elu_zoo import errors, registry
from elu_zoo.configs import table1_baselines
from elu_zoo.configs.table1_baselines import NETS
from elu_zoo.training.config import resolve
from elu_zoo.training.config_checks import check_config, check_run

NAME = "table1_baselines"


ARGS = [
    f"net={net},dataset={dataset},schedule={schedule},smoke={smoke}"
    for net in NETS
    for dataset in ("cifar10", "cifar100")
    for schedule in ("paper", "quick")
    for smoke in (False, True)
]


@pytest.mark.parametrize("arg", ARGS)
def test_configs_are_valid(arg):
    config = get_config(NAME, arg)
    check_config(config)
    examples = config.data.train_examples or 50_000
    steps = examples // config.train.batch_size * config.train.epochs
    check_run(resolve(config).config, steps, replicas=1)
    entry = registry.entry(config.model.name)
    activation = config.model.activation.name
    assert activation == entry.default("activation") == NETS[entry.name]["activation"]
    assert config.data.train_on_validation


@pytest.mark.parametrize("dataset", ["cifar10", "cifar100"])
def test_the_quick_schedule_does_not_enlarge_images_of_fmp(dataset):
    quick = get_config(NAME, f"net=fmp,dataset={dataset},schedule=quick").data
    assert not {"field_size", "whole_epochs"} & set(quick)


def test_the_argument_validation_changes_the_name_and_one_field():
    default, config = (flat(get_config(NAME, a)) for a in ("", "validation=True"))
    changes = {"name": f"{default['name']}-validation"}
    assert config == {**default, **changes, "data.train_on_validation": False}


# Fields of config.model with schedule=quick on CIFAR-100, except name, activation and width.
QUICK = {
    "alexnet_cifar": {"kernel_decay": 0.0, "classifier_decay": 0.0, "init_scale": 0.05},
    "nin": {"kernel_decay": 0.0, "dropout": 0.125, "init_scale": 1.0},
    "dsn": {"kernel_decay": 0.0, "dropout": 0.125, "auxiliary_heads": True, "init_scale": 1.0},
    "maxout": {"constrained": False, "dropout": [0.05] + [0.125] * 4, "init_scale": 1.0},
    "allcnn_c": {"kernel_decay": 0.0, "dropout": [0.05, 0.125, 0.125]},
    "highway_19": {
        **{"kernel_decay": 0.0, "classifier_decay": 0.0, "dropout": 0.05},
        **{"first_deviation": 0.05, "classifier_deviation": 0.1414},
    },
    "fmp": {"dropout": 0.0, "filters": 160, "regions": "pseudorandom"},
}


@pytest.mark.parametrize("net", NETS)
def test_the_quick_schedule_is_that_of_elu_cifar_11(net):
    ours = flat(get_config(NAME, f"net={net},schedule=quick"))
    theirs = flat(get_config("elu_cifar_11", "schedule=quick"))
    changes = {key for key in theirs if ours.get(key) != theirs[key]}
    assert {key for key in changes if not key.startswith("model.")} == {
        *("name", "train.boundaries"),
        *("train.dropout", "train.dropout_placement", "train.phase_boundaries"),
    }
    # 15 % of the run, in iterations.
    assert [ours["train.boundaries"], theirs["train.boundaries"]] == [[0.15], [2250]]
    assert ours["name"] == f"{NAME}-{net}-cifar100-quick30"
    model = {key[6:]: value for key, value in ours.items() if key.startswith("model.")}
    of_run = "name", "width", "batch_norm", "activation.name", "activation.alpha"
    assert {key: value for key, value in model.items() if key not in of_run} == QUICK[net]
    long = get_config(NAME, f"net={net},schedule=quick,epochs=61")
    short = get_config(NAME, f"net={net},schedule=quick,epochs=60")
    assert (long.data.cutout, short.data.cutout) == (8, 0)
    rates = [np.asarray(config.model.get("dropout", 0)) for config in (long, short)]
    np.testing.assert_array_equal(rates[0], 2 * rates[1])


@pytest.mark.parametrize(
    "arg, deviations",
    [
        ("dataset=cifar100", (0.001, 0.01, 0.05)),
        ("dataset=cifar100,schedule=quick", None),
        ("dataset=cifar10", None),
    ],
)
def test_nin_has_graded_initial_deviations_only_for_the_paper_schedule_on_cifar100(arg, deviations):
    assert get_config(NAME, f"net=nin,{arg}").model.get("deviations") == deviations


def test_nin_has_a_small_classifier_learning_rate_only_on_cifar10():
    factors = {
        dataset: get_config(NAME, f"net=nin,dataset={dataset}").train.learning_rate_factors
        for dataset in ("cifar10", "cifar100")
    }
    slow = ("classifier/kernel", 0.1), ("classifier/bias", 0.2)
    assert factors["cifar10"] == (*slow, ("bias", 2.0))
    assert factors["cifar100"] == (("bias", 2.0),)


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
