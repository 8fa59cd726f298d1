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
def test_every_value(boundaries, values, expected):
    rates = schedules.learning_rates(np.arange(8), boundaries, values)
    assert rates.dtype == np.float32
    np.testing.assert_array_equal(rates, np.float32(expected))


@pytest.mark.parametrize(
    "iteration, expected",
    [(0, 0.01), (34_999, 0.01), (35_000, 0.001), (164_999, 0.001), (2**40, 1e-4)],
)
def test_beside_distant_boundaries(iteration, expected):
    rates = schedules.learning_rates(
        np.array([iteration]), (35_000, 165_000), (0.01, 0.001, 1e-4)
    )
    assert rates == np.float32(expected)


def test_a_part_equals_the_part_of_the_whole():
    whole = schedules.learning_rates(np.arange(100), (10, 50), (3, 2, 1))
    part = schedules.learning_rates(np.arange(45, 55), (10, 50), (3, 2, 1))
    np.testing.assert_array_equal(part, whole[45:55])


@pytest.mark.parametrize(
    "boundaries, values, words",
    [
        ((), (), "one entry more .* Received: 0 and 0"),
        ((), (0.1, 0.2), "one entry more .* Received: 2 and 0"),
        ((5,), (0.1,), "one entry more .* Received: 1 and 1"),
        ((0,), (0.1, 0.2), r"increases, within .* 10 iterations.*\(0,\)"),
        ((-1,), (0.1, 0.2), r"increases.*\(-1,\)"),
        ((10,), (0.1, 0.2), r"increases, within .* 10 iterations.*\(10,\)"),
        ((11,), (0.1, 0.2), r"increases.*\(11,\)"),
        ((5, 5), (0.1, 0.2, 0.3), r"increases.*\(5, 5\)"),
        ((5, 4), (0.1, 0.2, 0.3), r"increases.*\(5, 4\)"),
        ((), (-0.1,), r"finite and >= 0.*\(-0.1,\)"),
        ((), (float("nan"),), r"finite and >= 0.*nan"),
        ((5,), (0.1, float("inf")), r"finite and >= 0.*inf"),
    ],
)
def test_refusals(boundaries, values, words):
    with pytest.raises(errors.UsageError, match=words):
        schedules.check(boundaries, values, 10)


@pytest.mark.parametrize(
    "boundaries, values",
    [((), (0.0,)), ((1,), (0.1, 0.0)), ((9,), (1, 2)), ((1, 9), (1, 2, 3))],
)
def test_accepts_the_ends_of_the_ranges(boundaries, values):
    schedules.check(boundaries, values, 10)
