"""Tuning: the factors on the learning rate that are tried, and the chosen one."""

import math

import pytest

from elu_zoo.compare import tuning

NAN = math.nan


@pytest.mark.parametrize(
    ("error", "factors"),
    [
        (lambda x: abs(x - 4), (0, 2, 4, 6, 3, 5)),  # the error by log2 of the factor
        (lambda x: abs(x - 3), (0, 2, 4, 3)),
        (lambda x: abs(x + 2), (0, 2, -2, -4, -3, -1)),
        (lambda x: abs(x), (0, 2, -2, -1, 1, -0.5)),  # of equal factors the smaller
        (lambda x: -x, (0, 2, 4, 6, 8)),
        (lambda x: NAN if x > 3 else -x, (0, 2, 4, 1, 3, 2.5)),
        (lambda x: NAN if x > -1 else -x, (0, -2, -4, -3, -1)),
        (lambda x: NAN, (0, -2, -4)),
    ],
)
def test_the_search_goes_to_the_smallest_error(error, factors):
    tried = {}
    for expected in factors:
        factor = tuning.next_factor(tried)
        assert math.log2(factor) == pytest.approx(expected)
        tried[factor] = [error(math.log2(factor))]


@pytest.mark.parametrize(
    ("first", "factor", "at_edge", "diverged"),
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
def test_the_factor_with_the_lowest_error_is_chosen(first, factor, at_edge, diverged):
    errors = {f: [e] for f, e in zip((0.25, 0.5, 1, 2, 4), first, strict=True)}
    found = tuning.choose(errors)
    assert (found.factor, found.at_edge) == (factor, at_edge)
    assert (found.trials, found.diverged) == (5, diverged)


@pytest.mark.parametrize(
    ("further", "factor", "diverged"),
    [
        ({4: (1, 1), 2: (3, 3)}, 4, 0),
        ({4: (9, 9), 2: (3, 2)}, 2, 0),
        ({4: (1, NAN), 2: (3, 9)}, 2, 1),  # however small the error of the others
        ({4: (NAN, 2), 2: (9, NAN)}, 1, 2),  # the only one without a diverged run
    ],
)
def test_further_seeds_decide_between_the_best_factors(further, factor, diverged):
    errors = {1: [4], 2: [2.5], 4: [2]}
    errors = {f: [*each, *further.get(f, ())] for f, each in errors.items()}
    found = tuning.choose(errors)
    assert (found.factor, found.at_edge) == (factor, factor != 2)
    assert (found.trials, found.diverged) == (7, diverged)
