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
