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
        ((7,), (0.1, 0.5), [0.1] * 7 + [0.5]),
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
    schedules.check(boundaries, values, 8, shape)
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
        ((), (0.5, 0.5), [0.5] * 8),
        ((4,), (0.0, 0.8, 0.0), [0.0, 0.2, 0.4, 0.6, 0.8, 0.6, 0.4, 0.2]),
        ((1,), (0.0, 0.7, 0.0), [0.0, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]),
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
    schedules.check(boundaries, values, 8, "exponential")
    rates = schedules.learning_rates(np.arange(8), *arguments)
    assert rates.dtype == np.float32
    np.testing.assert_allclose(rates, expected, 1e-6)


@pytest.mark.parametrize(
    "boundaries, values, words",
    [
        ((), (), "one entry more .* Received: 0 and 0"),
        ((), (0.1, 0.2), "one entry more .* Received: 2 and 0"),
        ((5,), (0.1,), "one entry more .* Received: 1 and 1"),
        ((0,), (0.1, 0.2), r"must increase, between .* 10 iterations.*\(0,\)"),
        ((11,), (0.1, 0.2), r"must increase.*\(11,\)"),
        (
            (10,),
            (0.1, 0.2),
            "Fractions fit every length: 0.5 is the middle of the run. A run needs",
        ),
        ((0.01, 0.02), (0.1, 0.2, 0.3), r"\(0.01, 0.02\), in iter.*\(1, 1\).*too few"),
        ((0.99,), (0.1, 0.2), r"Received: \(0.99,\), in iterations \(10,\). They are"),
        (
            (0.6, 0.3),
            (0.1, 0.2, 0.3),
            r"\(0.6, 0.3\), in iter.*\(6, 3\). Fractions fit",
        ),
        ((1.0,), (0.1, 0.2), r"fractions of the run between 0 and 1.*\(1.0,\)"),
        ((0.0,), (0.1, 0.2), r"fractions of the run between 0 and 1.*\(0.0,\)"),
        ((float("nan"),), (0.1, 0.2), r"fractions of the run between 0 and 1.*nan"),
        ((5, 5), (0.1, 0.2, 0.3), r"must increase.*\(5, 5\)"),
        ((5, 4), (0.1, 0.2, 0.3), r"must increase.*\(5, 4\)"),
        ((2.5,), (0.1, 0.2), r"train.boundaries must be whole numbers .*\(2.5,\)"),
        ((True,), (0.1, 0.2), r"train.boundaries must be a tuple .*\(True,\)"),
        (("5",), (0.1, 0.2), r"train.boundaries must be a tuple .*\('5',\)"),
        ((5,), (0.1, "x"), r"train.learning_rates must be a tuple .*'x'"),
        ((), (-0.1,), r"finite and >= 0.*\(-0.1,\)"),
        ((), (float("nan"),), r"finite and >= 0.*nan"),
        ((5,), (0.1, float("inf")), r"finite and >= 0.*inf"),
    ],
)
def test_wrong_boundaries_and_rates_are_refused(boundaries, values, words):
    with pytest.raises(errors.UsageError, match=words):
        schedules.check(boundaries, values, 10)


@pytest.mark.parametrize(
    "boundaries, values", [((), (0.0,)), ((1,), (0.1, 0.0)), ((9,), (1, 2)), ((1, 9), (1, 2, 3))]
)
def test_boundaries_inside_the_run_are_accepted(boundaries, values):
    schedules.check(boundaries, values, 10)


@pytest.mark.parametrize(
    "boundaries, values, shape, words",
    [
        ((5,), (0.1, 0.2), "linear", "have two entries more .* Received: 2 and 1"),
        ((), (0.1, 0.2, 0.3), "linear", "have two entries more .* Received: 3 and 0"),
        ((), (0.1, 0.0), "exponential", r"exponential must be > 0.*\(0.1, 0.0\)"),
        ((5,), (0.0, 0.1), "liner", "Unknown shape of learning rates 'liner'. Did you"),
    ],
)
def test_rates_that_do_not_fit_the_shape_are_refused(boundaries, values, shape, words):
    with pytest.raises(errors.UsageError, match=words):
        schedules.check(boundaries, values, 10, shape)
