"""Calibration measures, temperatures, and twins of runs."""

import math

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.weights import calibration


@pytest.fixture(scope="module")
def sample():
    """Logits, and labels drawn from their softmax."""
    generator = np.random.default_rng(0)
    logits = 2 * generator.standard_normal((4000, 5))
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    labels = [generator.choice(5, p=row) for row in probabilities]
    return logits, np.array(labels)


def test_nll_is_the_mean_of_minus_log_softmax_and_ece_is_in_percent(sample):
    logits, labels = 300 * sample[0][:50], sample[1][:50]
    p = np.exp(logits / 99) / np.exp(logits / 99).sum(1, keepdims=True)
    measured = calibration.measure(logits / 99, labels)
    assert measured["nll_nats"] == pytest.approx(-np.log(p[range(50), labels]).mean(), rel=1e-12)
    error = calibration.calibration_error(p.max(1), p.argmax(1) == labels)
    assert measured["ece_percent"] == pytest.approx(100 * error) and error > 0.01
    assert math.isfinite(calibration.measure(logits, labels)["nll_nats"])


@pytest.mark.parametrize(
    ("confidences", "is_right", "expected"),
    [
        ([1.0, 1.0], [True, True], 0.0),
        ([1.0, 1.0], [True, False], 0.5),
        ([0.5, 0.5], [True, False], 0.0),
        ([0.9, 0.91], [True, True], 0.095),  # both are in (13/15, 14/15]
        ([0.95, 0.9], [False, True], (0.95 + 0.1) / 2),  # two bins
        ([0.2, 0.2001], [True, False], (0.8 + 0.2001) / 2),  # 0.2 is 3/15, a right end
    ],
)
def test_calibration_error_of_15_bins(confidences, is_right, expected):
    error = calibration.calibration_error(np.array(confidences), np.array(is_right))
    assert error == pytest.approx(expected)


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_the_temperature_undoes_a_scale(scale, sample):
    logits, labels = sample
    temperature = calibration.fit_temperature(scale * logits, labels)
    assert temperature == pytest.approx(scale, rel=0.05)  # from only 4000 labels
    factors = (0.99, 1.0, 1.01)
    found = [calibration.measure(scale * logits, labels, f * temperature) for f in factors]
    nll = [measured["nll_nats_at_temperature"] for measured in found]
    assert nll[1] < min(nll[0], nll[2])


def test_images_without_a_wrong_prediction_are_refused(sample):
    logits = sample[0]
    with pytest.raises(errors.DataError, match="No temperature.*these 4000 images"):
        calibration.fit_temperature(logits, logits.argmax(1))


def entry(name="net", trained=True, **changes):
    train = {} if trained else {"warmup": 0.0}  # a field of later runs
    sections = {"data": {"train_on_validation": trained}, "model": {}, "train": train}
    return {
        "model": "net",
        "dataset": "cifar10",
        "arguments": {},
        "seed": 0,
        "epochs": 30,
        "config": {"name": name, **sections},
        "examples": {"validation": 0 if trained else 5000},
    } | changes


HELD_OUT = {"name": "net-validation", "trained": False}
OTHER_STEPS = {"name": "net-validation", "data": {"measure_test": False}, "model": {}}
OTHER_STEPS["train"] = {"boundaries": (9,), "evaluate_every": 3, "checkpoint_every": 4}
OTHER_RECIPE = {"name": "net-validation", "data": {}, "model": {}, "train": {"sgd_decay": 0.5}}


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (entry(**HELD_OUT), True),
        (entry(**HELD_OUT, config=OTHER_STEPS), True),
        (entry("net-validation"), False),  # no images held out
        (entry(**HELD_OUT, seed=1), False),
        (entry(**HELD_OUT, dataset="cifar100"), False),
        (entry(**HELD_OUT, config=OTHER_RECIPE), False),
        (entry(**HELD_OUT, parent="elu_cifar_11.cifar100_elu-defd2541"), True),
        (entry(**HELD_OUT, parent="elu_cifar_11.cifar10_elu-3ad8f85f"), False),
    ],
)
def test_a_twin_differs_only_in_that_it_holds_out_validation_images(other, expected):
    assert calibration.is_twin(entry(), other, {"train.warmup": 0.0}) == expected
    other |= {"dataset": "mnist_5k", "parent": "mnist_mlp_8x128.mnist_elu-7482e452"}
    assert not calibration.has_held_out(other)
