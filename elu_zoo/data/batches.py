"""The global batches of an epoch, as indices into a data set."""

import numpy as np

from elu_zoo import errors
from elu_zoo.data import order


def steps_per_epoch(count: int, batch_size: int) -> int:
    """Returns the number of full batches in `count` examples.

    Args:
        count: number of examples.
        batch_size: size of the global batch, over all replicas.

    Raises:
        UsageError: `batch_size` is not positive.
        DataError: the examples do not fill one batch.
    """
    if batch_size < 1:
        raise errors.UsageError(f"batch_size must be at least 1, got {batch_size}.")
    if count < batch_size:
        # One batch of them all would make an epoch of one step, too few for schedules.
        fitting = max(1, min(20, count // 5))
        raise errors.DataError(
            f"{count} examples do not fill one batch of {batch_size}. "
            f"Use more, or smaller batches: --config.train.batch_size={fitting}."
        )
    return count // batch_size


def epoch_batches(seed: int, epoch: int, count: int, batch_size: int) -> np.ndarray:
    """Returns the epoch's permutation, cut into global batches.

    The remainder, `count % batch_size` examples, is dropped: every step sees a full
    batch, so a step is one program of one shape. Another epoch drops others.

    Args:
        seed: the run's seed, see `order.permutation`.
        epoch: number of the epoch, from 0.
        count: number of examples.
        batch_size: size of the global batch, over all replicas.

    Returns:
        int32 array `(steps, batch_size)` of indices into the examples.

    Raises:
        UsageError: an argument is out of its range.
        DataError: the examples do not fill one batch.
    """
    steps = steps_per_epoch(count, batch_size)
    indices = order.permutation(seed, epoch, count)
    return indices[: steps * batch_size].reshape(steps, batch_size)
