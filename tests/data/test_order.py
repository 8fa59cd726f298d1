import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.data import order


@pytest.mark.parametrize(
    ("seed", "epoch", "count", "first"),
    [
        (0, 0, 10, [0, 2, 9, 1, 8, 5]),
        (0, 1, 10, [5, 3, 7, 8, 2, 4]),
        (1, 0, 10, [3, 5, 2, 9, 7, 0]),
        (2**31 - 1, 399, 50_000, [40742, 6706, 9298, 30463, 46195, 31838]),
    ],
)
def test_golden_order(seed, epoch, count, first):
    """Runs must stay repeatable under another NumPy."""
    assert order.permutation(seed, epoch, count)[: len(first)].tolist() == first


@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_visits_each_example_once(count):
    indices = order.permutation(3, 4, count)
    assert indices.dtype == np.int32
    assert sorted(indices.tolist()) == list(range(count))


def test_seeds_and_epochs_do_not_share_an_order():
    pairs = [(seed, epoch) for seed in range(20) for epoch in range(20)]
    pairs += [(2**32, 0), (0, 2**32), (2**63, 1)]
    orders = {order.permutation(*pair, 50).tobytes() for pair in pairs}
    assert len(orders) == len(pairs)


def test_every_example_is_equally_often_first():
    firsts = [int(order.permutation(seed, 0, 4)[0]) for seed in range(4000)]
    assert np.abs(np.bincount(firsts) - 1000).max() < 5 * np.sqrt(1000 * 0.75)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((-1, 0, 5), "seed"), ((0, -1, 5), "epoch"), ((0, 0, -5), "count")]
    + [((2**64, 0, 5), "seed"), ((0, 0, 2**31), "count")],
)
def test_refuses_what_is_out_of_range(arguments, name):
    with pytest.raises(errors.UsageError, match=f"^{name} must be"):
        order.permutation(*arguments)


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        ((0, 0, 10, 9), [[1, 5, 1], [7, 5, 0], [7, 8, 1]]),
        ((0, 0, 10, 32), [[26, 19, 1], [2, 9, 0], [30, 29, 1]]),
        ((0, 1, 10, 9), [[3, 7, 1], [4, 7, 1], [7, 2, 0]]),
        ((1, 0, 10, 5), [[4, 0, 0], [1, 4, 1], [1, 3, 1]]),
        ((1, 0, 10, 1), [[0, 0, 0], [0, 0, 1], [0, 0, 1]]),
        ((2**31 - 1, 399, 50_000, 9), [[6, 3, 0], [6, 3, 1], [1, 7, 1]]),
    ],
)
def test_golden_crops(arguments, first):
    """Runs must stay repeatable under another NumPy."""
    assert order.crops_and_flips(*arguments)[:3].tolist() == first


@pytest.mark.parametrize("corners", [1, 2, 3, 9, 32])
@pytest.mark.parametrize("count", [0, 1, 500])
def test_crops_are_in_range(corners, count):
    draws = order.crops_and_flips(3, 4, count, corners)
    assert (draws.dtype, draws.shape) == (np.int32, (count, 3))
    bounds = [corners - 1, corners - 1, 1]
    assert (draws >= 0).all() and (draws <= bounds).all()
    if count == 500:
        assert draws.min(0).tolist() == [0, 0, 0] and draws.max(0).tolist() == bounds


def test_crops_depend_on_seed_and_epoch_only():
    draws = order.crops_and_flips(3, 4, 1000, 9)
    np.testing.assert_array_equal(draws, order.crops_and_flips(3, 4, 1000, 9))
    for other in ((3, 5), (4, 4), (4, 3)):
        same = np.mean(draws == order.crops_and_flips(*other, 1000, 9), 0)
        np.testing.assert_allclose(same, [1 / 9, 1 / 9, 1 / 2], atol=0.08)
    order.permutation(3, 4, 1000)
    np.testing.assert_array_equal(draws, order.crops_and_flips(3, 4, 1000, 9))


def test_other_crops_leave_the_flips():
    one, other = (order.crops_and_flips(3, 4, 1000, corners) for corners in (9, 4))
    np.testing.assert_array_equal(one[:, 2], other[:, 2])


@pytest.mark.parametrize("corners", [9, 8])
def test_every_crop_is_equally_likely(corners):
    cells = corners * corners * 2
    draws = order.crops_and_flips(0, 0, cells * 500, corners)
    counts = np.bincount(draws @ [2 * corners, 2, 1], minlength=cells)
    assert len(counts) == cells
    chi_square = np.sum((counts - 500) ** 2 / 500)
    assert abs(chi_square - (cells - 1)) < 5 * np.sqrt(2 * (cells - 1))


def test_crops_are_independent_of_the_order_and_of_neighbours():
    count = 50_000
    draws = order.crops_and_flips(5, 6, count, 9).astype(float)
    ranks = order.permutation(5, 6, count)[:, None]
    columns = np.concatenate([draws[1:], draws[:-1], ranks[1:], ranks[:-1]], 1)
    correlations = np.corrcoef(columns, rowvar=False)[np.triu_indices(8, 1)]
    assert np.abs(correlations).max() * np.sqrt(count) < 5


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((-1, 0, 5, 9), "seed"), ((0, -1, 5, 9), "epoch"), ((0, 0, -5, 9), "count")]
    + [((2**64, 0, 5, 9), "seed"), ((0, 2**64, 5, 9), "epoch")]
    + [((0, 0, 2**31, 9), "count"), ((0, 0, 5, 0), None), ((0, 0, 5, -1), None)],
)
@pytest.mark.parametrize("own", ["corners", "each"])
def test_draws_of_images_refuse_what_is_out_of_range(arguments, name, own):
    draw = {"corners": order.crops_and_flips, "each": order.integers}[own]
    with pytest.raises(errors.UsageError, match=f"^{name or own} must be"):
        draw(*arguments)


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        ((0, 0, 10, 2), [[1528385388, 281888722], [1229337383, 547611125]]),
        ((0, 1, 10, 1), [[1662001093], [1370683195]]),
        (
            (2**31 - 1, 399, 50_000, 3),
            [[114762895, 1094238555, 1219975200], [1594543535, 1971294263, 1294607871]],
        ),
    ],
)
def test_golden_integers(arguments, first):
    """Runs must stay repeatable under another NumPy."""
    assert order.integers(*arguments)[:2].tolist() == first


@pytest.mark.parametrize("count", [0, 1, 500])
def test_integers_are_of_31_bits(count):
    draws = order.integers(3, 4, count, 7)
    assert (draws.dtype, draws.shape) == (np.int32, (count, 7))
    assert (draws >= 0).all()
    if count == 500:
        assert draws.max() > 2**31 * 0.99 and draws.min() < 2**31 * 0.01
        assert np.bitwise_or.reduce(draws.ravel()) == 2**31 - 1


def test_integers_are_independent_of_the_order_and_of_each_other():
    count = 50_000
    draws = order.integers(5, 6, count, 3).astype(float)
    ranks = order.permutation(5, 6, count)[:, None]
    columns = np.concatenate([draws[1:], draws[:-1], ranks[1:], ranks[:-1]], 1)
    correlations = np.corrcoef(columns, rowvar=False)[np.triu_indices(8, 1)]
    assert np.abs(correlations).max() * np.sqrt(count) < 5


@pytest.mark.parametrize(
    ("count", "batch_size", "steps"),
    [(50_000, 64, 781), (3_500, 100, 35), (7, 3, 2), (5, 5, 1), (1, 1, 1)],
)
def test_cuts_the_permutation_and_drops_the_remainder(count, batch_size, steps):
    indices = order.epoch_batches(2, 9, count, batch_size)
    assert order.steps_per_epoch(count, batch_size) == steps
    assert indices.shape == (steps, batch_size)
    assert indices.dtype == np.int32
    expected = order.permutation(2, 9, count)[: steps * batch_size]
    np.testing.assert_array_equal(indices.ravel(), expected)


def test_other_examples_are_dropped_in_other_epochs():
    kept = {frozenset(order.epoch_batches(0, e, 10, 9).ravel()) for e in range(20)}
    assert len(kept) > 1


@pytest.mark.parametrize("function", ["steps_per_epoch", "epoch_batches"])
@pytest.mark.parametrize(
    ("count", "batch_size", "error", "message"),
    [
        (120, 128, errors.DataError, "120 examples .* of 128.*batch_size=20."),
        (95, 100, errors.DataError, "95 examples .* one batch of 100.*batch_size=19."),
        (4, 5, errors.DataError, "4 examples .* one batch of 5.*batch_size=1."),
        (0, 1, errors.DataError, "0 examples .* one batch of 1.*batch_size=1."),
        (10, 0, errors.UsageError, "batch_size must be at least 1, got 0"),
        (10, -4, errors.UsageError, "batch_size must be at least 1, got -4"),
    ],
)
def test_refuses(function, count, batch_size, error, message):
    seed_and_epoch = (0, 0) if function == "epoch_batches" else ()
    with pytest.raises(error, match=message):
        getattr(order, function)(*seed_and_epoch, count, batch_size)


def test_centres_are_of_every_pixel_and_not_of_the_crops():
    found = order.centres(3, 5, 20_000, 7, 6)
    assert found.dtype == np.int32
    counts = np.zeros((7, 6), int)
    np.add.at(counts, tuple(found.T), 1)
    assert abs(counts / 20_000 * 42 - 1).max() < 0.2
    crops = order.crops_and_flips(3, 5, 20_000, 9)[:, :2]
    for i in range(2):
        assert abs(np.corrcoef(found[:, i], crops[:, i])[0, 1]) < 0.03
