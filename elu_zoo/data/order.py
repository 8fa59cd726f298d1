"""The order of the examples in each epoch."""

import numpy as np

from elu_zoo import errors


def permutation(seed: int, epoch: int, count: int) -> np.ndarray:
    """Returns the order in which an epoch visits `count` examples.

    It depends on the arguments only: not on the activation, the backend or the
    number of devices, so that runs to be compared see the same examples.

    Philox is keyed by (seed, epoch) itself, so no two pairs share a stream, and the
    order is the sort of its raw output, which NumPy promises to keep; it makes no
    such promise for `Generator.permutation`.

    Args:
        seed: the run's seed, in [0, 2**64).
        epoch: number of the epoch, from 0.
        count: number of examples, at least 0 and below 2**31.

    Returns:
        int32 array `(count,)`, each index once.

    Raises:
        UsageError: an argument is out of its range.
    """
    ranges = (("seed", seed, 2**64), ("epoch", epoch, 2**64), ("count", count, 2**31))
    for name, value, bound in ranges:
        if not 0 <= value < bound:
            raise errors.UsageError(
                f"{name} must be at least 0 and below {bound}, got {value}."
            )
    draws = np.random.Philox(key=np.array([seed, epoch], "uint64")).random_raw(count)
    return np.argsort(draws, kind="stable").astype("int32")
