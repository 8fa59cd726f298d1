"""Tuning: the grid of factors on the learning rate, and the chosen factor."""

import math

import pytest

from elu_zoo.compare import tuning

NAN = math.nan


@pytest.mark.parametrize(
    ("count", "factors"),
    [(1, (1,)), (3, (0.5, 1, 2)), (5, (0.25, 0.5, 1, 2, 4))],
)
def test_the_grid_has_powers_of_2_around_1(count, factors):
    assert tuning.grid(count) == factors


@pytest.mark.parametrize(
    ("errors", "factor", "at_edge", "diverged"),
    [
        ((5, 4, 3, 4, 5), 1, False, 0),
        ((5, 4, 3, 2, 5), 2, False, 0),
        ((1, 4, 3, 2, 5), 0.25, True, 0),
        ((5, 4, 3, 2, 1), 4, True, 0),
        ((5, 4, 3, 2, NAN), 2, False, 1),
        ((3, 3, 3, 3, 3), 1, False, 0),
        ((5, 3, 4, 3, 5), 0.5, False, 0),
        ((NAN, NAN, 9, NAN, NAN), 1, False, 4),
        ((NAN,) * 5, None, False, 5),
    ],
)
def test_the_factor_with_the_lowest_error_is_chosen(errors, factor, at_edge, diverged):
    found = tuning.choose(dict(zip(tuning.grid(5), errors, strict=True)))
    assert (found.factor, found.at_edge) == (factor, at_edge)
    assert (found.trials, found.diverged) == (5, diverged)
