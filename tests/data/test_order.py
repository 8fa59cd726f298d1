"""The random draws of an epoch are repeatable, in range, uniform and independent."""

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.data import order

LARGE = 2**31 - 1, 399, 50_000  # seed, epoch and count


@pytest.mark.parametrize(
    ("draw", "arguments", "start"),  # "start" has the first rows of the result
    [
        (order.permutation, (0, 0, 10), [0, 2, 9, 1, 8, 5]),
        (order.permutation, (0, 1, 10), [5, 3, 7, 8, 2, 4]),
        (order.permutation, (1, 0, 10), [3, 5, 2, 9, 7, 0]),
        (order.permutation, LARGE, [40742, 6706, 9298, 30463, 46195, 31838]),
        (order.crops_and_flips, (0, 0, 10, 9), [[1, 5, 1], [7, 5, 0], [7, 8, 1]]),
        (order.crops_and_flips, (0, 0, 10, 32), [[26, 19, 1], [2, 9, 0], [30, 29, 1]]),
        (order.crops_and_flips, (1, 0, 10, 1), [[0, 0, 0], [0, 0, 1], [0, 0, 1]]),
        (order.crops_and_flips, (*LARGE, 9), [[6, 3, 0], [6, 3, 1], [1, 7, 1]]),
        (order.centres, (0, 0, 10, 32, 30), [[16, 18], [14, 7], [19, 1]]),
        (order.centres, (*LARGE, 9, 8), [[4, 2], [4, 3], [4, 2]]),
        (order.integers, (0, 0, 10, 2), [[1528385388, 281888722], [1229337383, 547611125]]),
        (
            order.integers,
            (*LARGE, 3),
            [[114762895, 1094238555, 1219975200], [1594543535, 1971294263, 1294607871]],
        ),
    ],
)
def test_draws_equal_stored_values(draw, arguments, start):
    """Runs can be repeated only if every version of NumPy draws these values."""
    values = draw(*arguments)
    assert values.dtype == np.int32
    assert values[: len(start)].tolist() == start


@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_an_epoch_visits_each_example_once(count):
    assert sorted(order.permutation(3, 4, count).tolist()) == list(range(count))


def test_each_seed_and_epoch_has_another_order():
    pairs = [(seed, epoch) for seed in range(20) for epoch in range(20)]
    pairs += [(2**32, 0), (0, 2**32), (2**63, 1)]
    orders = {order.permutation(*pair, 50).tobytes() for pair in pairs}
    assert len(orders) == len(pairs)


@pytest.mark.parametrize("corners", [9, 8])
def test_every_crop_is_equally_likely(corners):
    outcomes = corners * corners * 2
    draws = order.crops_and_flips(0, 0, outcomes * 500, corners)
    counts = np.bincount(draws @ [2 * corners, 2, 1], minlength=outcomes)
    assert len(counts) == outcomes
    chi_square = np.sum((counts - 500) ** 2 / 500)
    assert abs(chi_square - (outcomes - 1)) < 5 * np.sqrt(2 * (outcomes - 1))


@pytest.mark.parametrize(("draw", "number"), [(order.crops_and_flips, 9), (order.integers, 3)])
def test_draws_are_independent_of_the_order_and_of_each_other(draw, number):
    count = 50_000
    draws = draw(5, 6, count, number).astype(float)
    ranks = order.permutation(5, 6, count)[:, None]
    # Each row has the draws and the ranks of two successive examples.
    columns = np.concatenate([draws[1:], draws[:-1], ranks[1:], ranks[:-1]], 1)
    correlations = np.corrcoef(columns, rowvar=False)[np.triu_indices(8, 1)]
    assert np.abs(correlations).max() * np.sqrt(count) < 5


def test_centres_are_uniform_and_independent_of_the_crops():
    centres = order.centres(3, 5, 20_000, 7, 6)
    assert centres.dtype == np.int32
    counts = np.zeros((7, 6), int)
    np.add.at(counts, tuple(centres.T), 1)
    assert abs(counts / 20_000 * 42 - 1).max() < 0.2
    crops = order.crops_and_flips(3, 5, 20_000, 9)[:, :2]
    for i in range(2):
        assert abs(np.corrcoef(centres[:, i], crops[:, i])[0, 1]) < 0.03


@pytest.mark.parametrize(
    ("count", "batch_size", "steps"), [(50_000, 64, 781), (7, 3, 2), (5, 5, 1), (1, 1, 1)]
)
def test_batches_are_the_permutation_without_the_remainder(count, batch_size, steps):
    indices = order.epoch_batches(2, 9, count, batch_size)
    assert order.steps_per_epoch(count, batch_size) == steps
    assert (indices.shape, indices.dtype) == ((steps, batch_size), np.int32)
    expected = order.permutation(2, 9, count)[: steps * batch_size]
    np.testing.assert_array_equal(indices.ravel(), expected)


@pytest.mark.parametrize(
    ("count", "batch_size", "remedy"),
    [(120, 128, "batch_size=20"), (95, 100, "batch_size=19"), (0, 1, "batch_size=1")],
)
def test_batches_that_cannot_be_filled_are_refused(count, batch_size, remedy):
    with pytest.raises(errors.DataError, match=remedy):
        order.epoch_batches(0, 0, count, batch_size)
