import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.data import batches, order


@pytest.mark.parametrize(
    ("count", "batch_size", "steps"),
    [(50_000, 64, 781), (3_500, 100, 35), (7, 3, 2), (5, 5, 1), (1, 1, 1)],
)
def test_cuts_the_permutation_and_drops_the_remainder(count, batch_size, steps):
    indices = batches.epoch_batches(2, 9, count, batch_size)
    assert batches.steps_per_epoch(count, batch_size) == steps
    assert indices.shape == (steps, batch_size)
    assert indices.dtype == np.int32
    expected = order.permutation(2, 9, count)[: steps * batch_size]
    np.testing.assert_array_equal(indices.ravel(), expected)


def test_other_examples_are_dropped_in_other_epochs():
    kept = {frozenset(batches.epoch_batches(0, e, 10, 9).ravel()) for e in range(20)}
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
        getattr(batches, function)(*seed_and_epoch, count, batch_size)
