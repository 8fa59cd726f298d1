"""Tuning: the factors on the learning rate that are tried, and the chosen one."""

import math

import pytest

from elu_zoo.compare import tuning

NAN = math.nan


@pytest.mark.parametrize(
    ("error", "factors"),
    [
        (lambda x: abs(x - 4), (0, 2, 4, 6, 3, 5, None)),  # the error by log2 of the factor
        (lambda x: abs(x - 3), (0, 2, 4, 3, None)),
        (lambda x: abs(x + 2), (0, 2, -2, -4, -3, -1, None)),
        (lambda x: abs(x), (0, 2, -2, -1, 1, None)),  # of equal factors the smaller
        (lambda x: abs(x - 1), (0, 2, -2, 1, None)),
        (lambda x: -x, (0, 2, 4, 6, 8)),
        (lambda x: NAN if x > 3 else -x, (0, 2, 4, 1, 3, None)),
        (lambda x: NAN if x > -1 else -x, (0, -2, -4, -3, -1, None)),
        (lambda x: NAN, (0, -2, -4)),
    ],
)
def test_the_search_goes_to_the_smallest_error(error, factors):
    tried = {}
    for expected in factors:
        factor = tuning.next_factor(tried)
        assert (factor and math.log2(factor)) == expected
        if factor:
            tried[factor] = [error(math.log2(factor))]


@pytest.mark.parametrize(
    ("first", "further", "factor", "at_edge"),
    [
        ((5, 4, 3, 4, 5), {}, 1, False),
        ((1, 4, 3, 2, 5), {}, 0.25, True),
        ((5, 4, 3, 2, 1), {}, 4, True),
        ((5, 4, 3, 2, NAN), {}, 2, False),
        ((3, 3, 3, 3, 3), {}, 1, False),
        ((5, 3, 4, 3, 5), {}, 0.5, False),
        ((NAN, NAN, 9, NAN, NAN), {}, 1, False),
        ((NAN,) * 5, {}, None, False),
        ((9, 9, 4, 2.5, 2), {4: (1, 1), 2: (3, 3)}, 4, True),
        ((9, 9, 4, 2.5, 2), {4: (9, 9), 2: (3, 2)}, 2, False),
        # However small the error of the others; the only one without a diverged run.
        ((9, 9, 4, 2.5, 2), {4: (1, NAN), 2: (3, 9)}, 2, False),
        ((9, 9, 4, 2.5, 2), {4: (NAN, 2), 2: (9, NAN)}, 1, False),
    ],
)
def test_the_factor_with_the_lowest_mean_error_of_most_seeds_is_chosen(
    first, further, factor, at_edge
):
    errors = dict(zip((0.25, 0.5, 1, 2, 4), first, strict=True))
    errors = {f: [e, *further.get(f, ())] for f, e in errors.items()}
    assert tuning.choose(errors) == tuning.Choice(factor, at_edge)
