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


@pytest.mark.parametrize(
    "boundaries, at",
    [((0.5,), (4,)), ((0.25, 0.75), (2, 6)), ((2, 0.75), (2, 6)), ((0.3,), (2,))],
)
@pytest.mark.parametrize(
    "shape, more", [("steps", 1), ("linear", 2), ("exponential", 2)]
)
def test_shares_of_the_run(boundaries, at, shape, more):
    values = (0.5, 0.1, 0.4, 0.2)[: len(at) + more]
    schedules.check(boundaries, values, 8, shape)
    iterations = np.arange(8)
    rates, expected = (
        schedules.learning_rates(iterations, given, values, shape, 8)
        for given in (boundaries, at)
    )
    np.testing.assert_array_equal(rates, expected)


def test_a_part_equals_the_part_of_the_whole():
    whole = schedules.learning_rates(np.arange(100), (10, 50), (3, 2, 1))
    part = schedules.learning_rates(np.arange(45, 55), (10, 50), (3, 2, 1))
    np.testing.assert_array_equal(part, whole[45:55])


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
def test_every_value_of_straight_lines(boundaries, values, expected):
    """The last iteration is one before the end, where the last rate would be."""
    given = boundaries, values, "linear", 8
    rates = schedules.learning_rates(np.arange(8), *given)
    assert rates.dtype == np.float32
    np.testing.assert_allclose(rates, expected, 1e-6, 1e-7)
    part = schedules.learning_rates(np.arange(3, 6), *given)
    np.testing.assert_array_equal(part, rates[3:6])


@pytest.mark.parametrize(
    "boundaries, values, expected",
    [
        ((), (1.0, 2.0**-8), 0.5 ** np.arange(8)),
        ((4,), (1.0, 1 / 16, 1 / 16), [1, 1 / 2, 1 / 4, 1 / 8, *[1 / 16] * 4]),
        ((), (0.003, 0.003 * np.exp(-8 * 0.01)), 0.003 * np.exp(-0.01 * np.arange(8))),
    ],
)
def test_every_value_of_exponentials(boundaries, values, expected):
    given = boundaries, values, "exponential", 8
    schedules.check(boundaries, values, 8, "exponential")
    rates = schedules.learning_rates(np.arange(8), *given)
    assert rates.dtype == np.float32
    np.testing.assert_allclose(rates, expected, 1e-6)


def test_an_exponential_never_is_zero():
    with pytest.raises(errors.UsageError, match=r"exponential are > 0.*\(0.1, 0.0\)"):
        schedules.check((), (0.1, 0.0), 10, "exponential")


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
        ((10,), (0.1, 0.2), "Shares of the run fit any length: 0.5 is its middle.$"),
        ((0.5, 0.5), (0.1, 0.2, 0.3), r"increases.*\(5, 5\)"),
        ((0.01, 0.02), (0.1, 0.2, 0.3), r"increases.*\(1, 1\)"),
        ((0.99,), (0.1, 0.2), r"increases.*\(10,\)"),
        ((1.0,), (0.1, 0.2), r"shares of the run between 0 and 1.*\(1.0,\)"),
        ((0.0,), (0.1, 0.2), r"shares of the run between 0 and 1.*\(0.0,\)"),
        ((float("nan"),), (0.1, 0.2), r"shares of the run between 0 and 1.*nan"),
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


@pytest.mark.parametrize(
    "boundaries, values, words",
    [
        ((), (0.1,), "has two entries more .* Received: 1 and 0"),
        ((5,), (0.1, 0.2), "has two entries more .* Received: 2 and 1"),
        ((), (0.1, 0.2, 0.3), "has two entries more .* Received: 3 and 0"),
        ((10,), (0.1, 0.2, 0.3), r"increases, within .* 10 iterations.*\(10,\)"),
        ((0,), (0.1, 0.2, 0.3), r"increases, within .*\(0,\)"),
        ((5,), (0.1, -0.2, 0.3), r"finite and >= 0.*-0.2"),
    ],
)
def test_refusals_of_straight_lines(boundaries, values, words):
    with pytest.raises(errors.UsageError, match=words):
        schedules.check(boundaries, values, 10, "linear")


def test_shapes():
    schedules.check((5,), (0.0, 0.1, 0.0), 10, "linear")
    schedules.check((5,), (0.0, 0.1), 10, "steps")
    words = "Unknown shape of learning rates 'liner'. Did you mean 'linear'"
    with pytest.raises(errors.UsageError, match=words):
        schedules.check((5,), (0.0, 0.1), 10, "liner")


@pytest.mark.parametrize(
    "boundaries, values, words",
    [
        ((2.5,), (0.1, 0.2), r"train.boundaries are whole numbers .*\(2.5,\)"),
        ((True,), (0.1, 0.2), r"train.boundaries is a tuple .*\(True,\)"),
        (("5",), (0.1, 0.2), r"train.boundaries is a tuple .*\('5',\)"),
        ((5,), (0.1, "x"), r"train.learning_rates is a tuple .*'x'"),
        ((5,), (0.1, False), r"train.learning_rates is a tuple .*False"),
    ],
)
def test_entries_that_are_no_numbers(boundaries, values, words):
    with pytest.raises(errors.UsageError, match=words):
        schedules.check(boundaries, values, 10)


@pytest.mark.parametrize("boundaries", [(), (1,), (9,), (1, 9), (np.int64(4),)])
def test_check_boundaries_accepts(boundaries):
    assert schedules.check_boundaries("ends", boundaries, 10) is None


@pytest.mark.parametrize(
    "boundaries, words",
    [
        ((0,), r"ends increases, within the run's 10 iterations. Received: \(0,\)."),
        ((10,), r"ends increases, .*: \(10,\)"),
        ((3, 3), r"ends increases, .*: \(3, 3\)"),
        ((4, 3), r"ends increases, .*: \(4, 3\)"),
        ((1.0,), r"ends are whole numbers .* or shares .* Received: \(1.0,\)"),
        (("1",), r"ends is a tuple of numbers. Received: \('1',\)"),
    ],
)
def test_check_boundaries_refuses(boundaries, words):
    with pytest.raises(errors.UsageError, match=words):
        schedules.check_boundaries("ends", boundaries, 10)
