"""Schedules of learning rates: steps, lines and exponential decay."""

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.training import schedules


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
    rates = schedules.learning_rates(np.arange(8), boundaries, values)
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
    iterations = np.arange(8)
    rates, expected = (
        schedules.learning_rates(iterations, form, values, shape, 8)
        for form in (boundaries, in_iterations)
    )
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
    arguments = boundaries, values, "linear", 8
    rates = schedules.learning_rates(np.arange(8), *arguments)
    assert rates.dtype == np.float32
    np.testing.assert_allclose(rates, expected, 1e-6, 1e-7)
    part = schedules.learning_rates(np.arange(3, 6), *arguments)
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
    arguments = boundaries, values, "exponential", 8
    schedules.check_learning_rates(boundaries, values, "exponential")
    rates = schedules.learning_rates(np.arange(8), *arguments)
    assert rates.dtype == np.float32
    np.testing.assert_allclose(rates, expected, 1e-6)


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
        ((10,), "Fractions fit"),
        ((5, 5), "must increase"),
        ((0.01, 0.02), r"in iterations \(1, 1\).*more iterations"),
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
