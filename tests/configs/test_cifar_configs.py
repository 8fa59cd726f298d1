"""Each field of the CIFAR configs changes an observable of a run on random images."""

import math

import keras
import numpy as np
import observed
import pytest
from observed import CIFAR, flat, get_config, learner_observables, loader, observables

from elu_zoo import registry, training, zoo
from elu_zoo.data import load
from elu_zoo.evaluation import loss
from elu_zoo.evaluation.evaluator import Evaluator
from elu_zoo.training.step import resident


def dropout(stacks):
    """Returns dropout rates of the base run: for each phase, one rate per stack."""
    return tuple((rate,) * stacks for rate in (0.1, 0.2, 0.3))


# Fields of the base run. Each test changes one field of it.
BASE = {
    **observed.SCHEDULE,
    "model.width": 0.02,
    "data.train_examples": 48,
    "data.train_on_validation": False,
    "train.batch_size": 16,
    "train.phase_boundaries": (2, 4),
    "train.dropout": dropout(7),
    "train.dropout_placement": ("last", "all", "last"),
}
# Dropout rates at the end of the second stack and inside the stack, by iteration.
END_RATES, INNER_RATES = [0.1, 0.1, 0.2, 0.2, 0.3, 0.3], [0.0, 0.0, 0.2, 0.2, 0.0, 0.0]
ZEROS = ((0.0,) * 7,) * 3

# Columns as in `observed.FIELDS`, where None means not checked.
FIELDS = {
    **observed.FIELDS,
    "smoke": (False, "workdir", None, "runs/elu_cifar_11-cifar100/elu-s0"),
    "schedule_epochs": (4, "schedule_share", 0.0061, 0.5),
    "model.name": ("elu_cifar_18", "parameters", 1104, 16226),
    "model.batch_norm": (True, "parameters", 1104, 1104 + 4 * 52),
    "model.width": (0.04, "parameters", 1104, 3449),
    "model.padding": ("same", "pads", 3, 0),
    "model.kernel_decay": (0.25, "decay", 0.0005, 0.25),
    "model.initial_kernels": ("orthogonal", "kernel", None, None),
    "data.name": ("cifar10", "dataset", "cifar100", "cifar10"),
    "data.train_examples": (0, "epoch_ends", [3, 6], [6, 12]),
    "data.train_on_validation": (True, "evaluated", [1, 2], []),
    "data.measure_test": (False, "tested", True, False),
    "data.cutout": (8, "draw_range", [0, 8], None),
    "data.augmentation": ("none", "draw_range", [0, 8], None),
    "train.batch_size": (12, "epoch_ends", [3, 6], [4, 8]),
    "train.keep_best": (True, "kept_step", 0, 3),  # of equal losses, the first
    "train.loss": ("constant", "first_loss", pytest.approx(math.log(10)), 1.5),
    "train.phase_boundaries": (
        *((1, 5), "end_rates"),
        *(END_RATES, [0.1] + [0.2] * 4 + [0.3]),
    ),
    "train.dropout": (ZEROS, "end_rates", END_RATES, [0.0] * 6),
    "train.dropout_placement": (("all",) * 3, "inner_rates", INNER_RATES, END_RATES),
}
NEEDED = {**observed.NEEDED_ENTRIES, "model.name": {"train.dropout": dropout(8)}}


@pytest.fixture(scope="module")
def observe(tmp_path_factory):
    """A function that runs a config on random images and returns the observables.

    The fake training step of the run records observables and updates no weights.
    """
    random_data = loader((32, 32, 3), classes=10, images="cifar10")
    values = {}

    def record(self, batches, rates, first_step, draws):
        model = self._update._model
        layers = {layer.name: layer for layer in model.layers}
        conv, count = layers["stack2_conv1"], len(batches)
        inner_rate = layers.get("stack2_conv1_drop", layers["stack2_drop"]).rate
        values["rates"] += [pytest.approx(rate) for rate in rates.tolist()]
        values["end_rates"] += [layers["stack2_drop"].rate] * count
        values["inner_rates"] += [inner_rate] * count
        values["draw_range"] = None if draws is None else [draws.min(), draws.max()]
        padding = keras.layers.ZeroPadding2D
        values["pads"] = sum(isinstance(x, padding) for x in model.layers)
        penalty = conv.kernel_regularizer
        values["decay"] = penalty and pytest.approx(2 * float(penalty.l2))
        values["compute_dtype"] = conv.compute_dtype
        values["kernel"] = float(np.asarray(conv.kernel)[0, 0, 0, 0])
        learner = self._update._learner
        values.update(learner_observables(learner))
        labels = self._labels.numpy()[batches[0]]
        loss = learner.objective(None, labels, np.zeros((len(labels), 10), "float32"))
        return np.full(count, np.mean(loss))

    constant = loss.Loss(lambda labels, z: 0 * z[:, 0] + 1.5, of_images=False)
    metrics = {"loss": 1.0, "error_percent": 50.0}

    def observe(config):
        values.update(rates=[], end_rates=[], inner_rates=[])
        workdir = tmp_path_factory.mktemp("run")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(load, "load", random_data)
            patch.setattr(resident.ResidentStep, "run", record)
            patch.setattr(Evaluator, "__call__", lambda *_: metrics)
            patch.setitem(loss.LOSSES, "constant", constant)
            patch.setitem(registry.READOUTS, "constant", "linear")
            entry = training.train(config, workdir)
        values["tested"] = "test_loss" in entry["metrics"]
        return {**observables(config, workdir, entry), **values}

    return observe


@pytest.fixture(scope="module")
def base(observe):
    """The observables of the base run."""
    return observe(config_with())


def config_with(entries=()):
    config = get_config("elu_cifar_11", "smoke=True")
    config.update_from_flattened_dict({**BASE, **dict(entries)})
    return config


def small(name, arg=""):
    """Returns a smoke config of 20 iterations."""
    config = get_config(name, f"{arg},smoke=True")
    config.update_from_flattened_dict({"model.width": 0.01, "train.batch_size": 10})
    config.data.train_examples = 100
    return config


@pytest.mark.parametrize("arg", ["", "activation=relu,seed=3", "dataset=cifar10"])
@pytest.mark.parametrize("smoke", [False, True])
def test_fields_of_elu_cifar_18_that_differ_from_elu_cifar_11(smoke, arg):
    dataset = arg.partition("dataset=")[2] or "cifar100"
    rates = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.0]
    expected = {
        "name": f"elu_cifar_18-{dataset}",
        "schedule_epochs": 510,
        "model.name": "elu_cifar_18",
        "train.epochs": 2 if smoke else 510,
        "train.boundaries": [4] if smoke else [35_000],
        "train.learning_rates": [0.01, 0.001],
        "train.phase_boundaries": [8, 14] if smoke else [165_000, 215_000],
        "train.dropout": [rates, rates, [0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.75, 0]],
        "train.dropout_placement": ["last", "all", "all"],
    }
    elu_cifar_11, elu_cifar_18 = (get_config(name, f"{arg},smoke={smoke}") for name in CIFAR)
    assert flat(elu_cifar_18) == {**flat(elu_cifar_11), **expected}


def test_a_smoke_run_of_elu_cifar_18_has_three_phases(observe):
    values = observe(small("elu_cifar_18"))
    assert values["epoch_ends"] == [10, 20]
    assert values["rates"] == [0.01] * 4 + [0.001] * 16
    assert values["end_rates"] == [0.1] * 14 + [0.15] * 6
    assert values["inner_rates"] == [0.0] * 8 + [0.1] * 6 + [0.15] * 6


@pytest.mark.parametrize(
    "name", ["elu_cifar_11", pytest.param("elu_cifar_18", marks=pytest.mark.slow)]
)
def test_the_model_with_the_weights_of_a_run_has_the_recorded_test_error(
    name, tmp_path, monkeypatch
):
    random_data = loader((32, 32, 3), classes=10, images="cifar10")
    monkeypatch.setattr(load, "load", random_data)
    entry = training.train(small(name, "dataset=cifar10"), tmp_path)
    assert entry["step"] == 20
    assert list(entry["metrics"]) == ["test_loss", "test_error_percent"]
    assert entry["arguments"] == {
        "activation": {"name": "elu", "alpha": 1.0},
        "batch_norm": False,
        "input_shape": [32, 32, 3],
        "width": 0.01,
        "padding": "caffe",
        "num_classes": 10,
    }
    model = zoo.get_model(name, weights=tmp_path)
    test = random_data("cifar10").test
    wrong = model.predict(test.images, verbose=0).argmax(1) != test.labels
    assert entry["metrics"]["test_error_percent"] == 100 * wrong.mean()
