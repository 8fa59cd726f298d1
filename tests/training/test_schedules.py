"""Schedules of learning rates: steps, lines and exponential decay."""

import numpy as np
import pytest
from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.training import schedules


def rates_of(iterations, boundaries, values, shape="steps", warmup=0.0):
    """Returns learning rates in a run of 8 iterations."""
    fields = {"boundaries": boundaries, "learning_rates": values, "warmup": warmup}
    train = ConfigDict({**fields, "learning_rate_shape": shape})
    return schedules.learning_rates(iterations, train, 8)


@pytest.mark.parametrize(
    "boundaries, values, expected",
    [
        ((), (0.01,), [0.01] * 8),
        ((1,), (0.5, 0.1), [0.5] + [0.1] * 7),
        ((2, 5), (0.5, 0.1, 0.0), [0.5] * 2 + [0.1] * 3 + [0.0] * 3),
        ((1, 2, 3), (4, 3, 2, 1), [4, 3, 2, 1, 1, 1, 1, 1]),
    ],
)
def test_steps_keep_a_rate_until_the_next_boundary(boundaries, values, expected):
    rates = rates_of(np.arange(8), boundaries, values)
    assert rates.dtype == np.float32
    np.testing.assert_array_equal(rates, np.float32(expected))


@pytest.mark.parametrize(
    "boundaries, in_iterations",
    [((0.5,), (4,)), ((0.25, 0.75), (2, 6)), ((2, 0.75), (2, 6)), ((0.3,), (2,))],
)
@pytest.mark.parametrize("shape, extra", [("steps", 1), ("linear", 2), ("exponential", 2)])
def test_boundaries_can_be_shares_of_the_run(boundaries, in_iterations, shape, extra):
    values = (0.5, 0.1, 0.4, 0.2)[: len(in_iterations) + extra]
    schedules.check_learning_rates(boundaries, values, shape)
    forms = boundaries, in_iterations
    rates, expected = (rates_of(np.arange(8), form, values, shape) for form in forms)
    np.testing.assert_array_equal(rates, expected)


@pytest.mark.parametrize(
    "boundaries, values, expected",
    [
        ((), (0.0, 0.8), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
        ((4,), (0.0, 0.8, 0.0), [0.0, 0.2, 0.4, 0.6, 0.8, 0.6, 0.4, 0.2]),
        ((2, 4), (0.4, 0.2, 0.2, 1.0), [0.4, 0.3, 0.2, 0.2, 0.2, 0.4, 0.6, 0.8]),
    ],
)
def test_linear_interpolates_between_boundaries(boundaries, values, expected):
    """The last value is the rate of iteration 8, one after the last iteration."""
    arguments = boundaries, values, "linear"
    rates = rates_of(np.arange(8), *arguments)
    assert rates.dtype == np.float32
    np.testing.assert_allclose(rates, expected, 1e-6, 1e-7)
    part = rates_of(np.arange(3, 6), *arguments)
    np.testing.assert_array_equal(part, rates[3:6])


@pytest.mark.parametrize(
    "boundaries, values, expected",
    [
        ((), (1.0, 2.0**-8), 0.5 ** np.arange(8)),
        ((4,), (1.0, 1 / 16, 1 / 16), [1, 1 / 2, 1 / 4, 1 / 8, *[1 / 16] * 4]),
        ((), (0.003, 0.003 * np.exp(-8 * 0.01)), 0.003 * np.exp(-0.01 * np.arange(8))),
    ],
)
def test_exponential_decays_between_boundaries(boundaries, values, expected):
    schedules.check_learning_rates(boundaries, values, "exponential")
    rates = rates_of(np.arange(8), boundaries, values, "exponential")
    assert rates.dtype == np.float32
    np.testing.assert_allclose(rates, expected, 1e-6)


@pytest.mark.parametrize(("warmup", "factors"), [(0.3, [1 / 2.4, 2 / 2.4]), (0.02, [])])
@pytest.mark.parametrize("shape", ["steps", "linear", "exponential"])
def test_the_warm_up_is_a_line_to_the_rates_of_the_schedule(shape, warmup, factors):
    arguments = np.arange(8), (2,), (0.4, 0.2, 0.1)[: 3 - (shape == "steps")], shape
    expected = rates_of(*arguments) * [*factors, *[1] * (8 - len(factors))]
    np.testing.assert_allclose(rates_of(*arguments, warmup), expected, 1e-6)


@pytest.mark.parametrize(
    ("boundaries", "values", "shape", "word"),
    [
        ((5,), (0.1,), "steps", "one entry more"),
        ((5,), (0.1, 0.2), "linear", "two entries more"),
        ((True,), (0.1, 0.2), "steps", "boundaries must be a tuple"),
        (("5",), (0.1, 0.2), "steps", "boundaries must be a tuple"),
        ((5,), (0.1, "x"), "steps", "rates must be a tuple"),
        ((), (-0.1,), "steps", ">= 0"),
        ((5,), (0.1, float("inf")), "steps", "finite"),
        ((), (0.1, 0.0), "exponential", "> 0"),
    ],
)
def test_rates_that_do_not_fit_boundaries_and_shape_are_refused(boundaries, values, shape, word):
    with pytest.raises(errors.UsageError, match=word):
        schedules.check_learning_rates(boundaries, values, shape)


@pytest.mark.parametrize(
    ("boundaries", "word"),
    [
        ((0,), "must increase"),
        ((10,), "rising fractions"),
        ((5, 5), "must increase"),
        ((0.01, 0.02), r"in iterations \(1, 1\).*rising fractions"),
        ((0.99,), r"in iterations \(10,\)"),
        ((0.6, 0.3), r"in iterations \(6, 3\)"),
        *(((share,), "between 0 and 1") for share in (1.0, 0.0, 2.5, float("nan"))),
    ],
)
def test_boundaries_outside_the_run_are_refused(boundaries, word):
    with pytest.raises(errors.UsageError, match=word):
        schedules.check_boundaries("train.boundaries", boundaries, 10)


@pytest.mark.parametrize("boundaries", [(), (1,), (9,), (1, 9), (0.1, 0.9), (2, 0.5)])
def test_boundaries_inside_the_run_are_accepted(boundaries):
    schedules.check_boundaries("train.boundaries", boundaries, 10)
