"""Fields and arguments of the config `table1_baselines` change its runs."""

from importlib import resources

import numpy as np
import pytest
from observed import flat, get_config, loader

from elu_zoo import errors, registry, training
from elu_zoo.configs import table1_baselines
from elu_zoo.configs.table1_baselines import NETS
from elu_zoo.data import load
from elu_zoo.evaluation.evaluator import Evaluator
from elu_zoo.layers import Dropout
from elu_zoo.training.config import resolve
from elu_zoo.training.config_checks import check_config, check_run
from elu_zoo.training.step import resident

NAME = "table1_baselines"
# Fields of the base run, of two epochs of three iterations. Each test changes one.
BASE = {
    "data.train_examples": 48,
    "train.batch_size": 16,
    "train.boundaries": (),
    "train.learning_rates": (0.02,),
    "train.learning_rate_shape": "steps",
}
RATES = [0.02] * 6
AUGMENTED = [True] * 3 + [False] * 3
EXPONENTIAL = [0.02 * 0.5 ** (i / 6) for i in range(6)]

# (network, field, and the columns of `observed.FIELDS`).
FIELDS = [
    ("alexnet_cifar", "model.kernel_decay", 0.5, "decay", 0.004, 0.5),
    ("alexnet_cifar", "model.classifier_decay", 0.5, "classifier_decay", 1.0, 0.5),
    ("nin", "model.dropout", 0.25, "dropout", [0.5, 0.5], [0.25, 0.25]),
    ("nin", "model.deviations", (0.05, 0.01, 0.05), "kernel", None, None),
    ("nin", "model.init_scale", 1.0, "kernel", None, None),
    ("nin", "data.padding", 2, "draw_range", [0, 8], [0, 4]),
    (
        *("nin", "train.learning_rate_factors", (("bias", 2.0),)),
        *("factors", {0.1, 0.2, 1.0, 2.0}, {1.0, 2.0}),
    ),
    ("dsn", "model.auxiliary_heads", False, "heads", [True] * 2 + [False] * 4, []),
    ("dsn", "train.heads_until", 0.0, "heads", None, [False] * 6),
    ("dsn", "train.heads_until", 0.5, "heads", None, [True] * 3 + [False] * 3),
    ("dsn", "train.loss", "softmax_cross_entropy", "loss", 10.0, np.log(10)),
    ("maxout", "model.constrained", False, "bound", 0.9, None),
    ("maxout", "train.momentum_rise", (0.0, 4), "momentum_rise", (0.5, 3), (0.0, 4)),
    ("allcnn_c", "model.dropout", (0.1,) * 3, "dropout", [0.2, 0.5, 0.5], [0.1] * 3),
    ("highway_19", "model.classifier_decay", 0.5, "classifier_decay", 0.01, 0.5),
    ("highway_19", "model.first_deviation", 0.5, "first_deviation", 1.0, 0.5),
    (
        *("highway_19", "model.classifier_deviation", 0.1),
        *("classifier_deviation", 0.05, 0.1),
    ),
    ("fmp", "data.field_size", 64, "input_side", 94, 64),
    ("fmp", "data.whole_epochs", 0, "augmented", AUGMENTED, [True] * 6),
    ("fmp", "model.filters", 320, "parameters", None, None),
    ("fmp", "model.regions", "random", "regions", {"pseudorandom"}, {"random"}),
    ("fmp", "train.learning_rate_shape", "exponential", "rates", RATES, EXPONENTIAL),
]
# field: entries that a config needs if the field has the changed value.
NEEDED_ENTRIES = {
    "model.auxiliary_heads": {"train.learning_rate_factors": (("bias", 2.0),)},
    "train.learning_rate_shape": {"train.learning_rates": (0.02, 0.01)},
}


@pytest.fixture(scope="module")
def observe(tmp_path_factory):
    """A function that runs a config on random images and returns the observables.

    The fake training step of the run records observables and updates no weights.
    """
    values = {}

    def record(self, batches, rates, first_step, draws):
        model, optimizer = self._update._model, self._update._learner.optimizer
        layers = {layer.name: layer for layer in model.layers}
        weighted = [layer for layer in model.layers if hasattr(layer, "kernel")]
        values["rates"] += [pytest.approx(rate) for rate in rates.tolist()]
        if "heads" in layers:
            values["heads"] += [layers["heads"].active] * len(batches)
        values["input_side"] = model.input_shape[1]
        if draws is not None and draws.max() > 1000:  # not positions of crops
            values["augmented"] += [np.unique(drawn).size > 1 for drawn in draws]
        values["draw_range"] = None if draws is None else [draws.min(), draws.max()]
        values["dropout"] = [x.rate for x in model.layers if isinstance(x, Dropout)]
        values["kernel"] = float(np.std(np.asarray(weighted[1].kernel)))
        values["parameters"] = model.count_params()
        values["regions"] = {x.regions for x in model.layers if hasattr(x, "regions")}
        for key, layer in (*(("decay", weighted[0]), ("classifier_decay", layers["classifier"])),):
            penalty = layer.kernel_regularizer
            values[key] = pytest.approx(2 * float(penalty.l2)) if penalty else 0
        for key, layer in ("first", weighted[0]), ("classifier", layers["classifier"]):
            deviation = float(np.std(np.asarray(layer.kernel)))
            values[f"{key}_deviation"] = pytest.approx(deviation, rel=0.2)
        constraint = weighted[0].kernel_constraint
        values["bound"] = constraint.max_value if constraint else None
        values["factors"] = set(getattr(optimizer, "_factors", ()))
        rise = getattr(optimizer, "_first_momentum", 0), getattr(optimizer, "_rise", 0)
        values["momentum_rise"] = rise
        labels = self._labels.numpy()[batches[0]]
        loss = self._update._learner.objective(None, labels, np.zeros((16, 10), "float32"))
        values["loss"] = pytest.approx(float(np.mean(loss)))
        return np.full(len(batches), np.mean(loss))

    def observe(config):
        values.clear()
        values.update(rates=[], heads=[], augmented=[])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(load, "load", loader((32, 32, 3), 10, images="cifar10"))
            patch.setattr(resident.ResidentStep, "run", record)
            metrics = {"loss": 1.0, "error_percent": 50.0}
            patch.setattr(Evaluator, "__call__", lambda *_: metrics)
            training.train(config, tmp_path_factory.mktemp("run"), compile="off")
        return dict(values)

    return observe


def config_with(net, entries=()):
    config = get_config(NAME, f"net={net},dataset=cifar10,smoke=True")
    config.update_from_flattened_dict(BASE)
    if net == "nin":
        config.model.deviations = (0.05, 0.05, 0.05)
    config.unlock()
    for key, value in dict(entries).items():
        group, name = key.split(".")
        config[group][name] = value
    if "model.auxiliary_heads" in dict(entries):
        del config.train.heads_until
    return config


@pytest.fixture(scope="module")
def base(observe):
    """A function that returns the observables of the base run of a network."""
    cache = {}

    def get(net):
        if net not in cache:
            cache[net] = observe(config_with(net))
        return cache[net]

    return get


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
