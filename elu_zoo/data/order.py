"""Random draws of an epoch: order, global batches, crops and flips of examples."""

import numpy as np

from elu_zoo import errors

# The seed of the splits of the zoo's data sets. This seed is fixed, so that runs with
# different seeds have the same validation set.
SPLIT_SEED = 20160222


def permutation(seed: int, epoch: int, count: int) -> np.ndarray:
    """Returns the order in which an epoch visits `count` examples.

    The generator Philox is keyed by (seed, epoch), both in [0, 2**64), so that every pair
    has its own random stream. The order sorts the raw output of Philox, which later
    versions of NumPy must keep, unlike the output of `Generator.permutation`.
    """
    draws = _draw(seed, epoch, count)
    return np.argsort(draws, kind="stable").astype("int32")


def steps_per_epoch(count: int, batch_size: int) -> int:
    """Returns the number of full global batches in `count` examples."""
    if count < batch_size:
        raise errors.DataError(
            f"{count} examples do not fill one batch of {batch_size}. Add examples, or set "
            f"--config.train.batch_size={smaller_batch_size(count)}."
        )
    return count // batch_size


def smaller_batch_size(count: int) -> int:
    """Returns a batch size for few examples, with several batches an epoch."""
    # Schedules need several steps an epoch.
    return max(1, min(20, count // 5))


def epoch_batches(seed: int, epoch: int, count: int, batch_size: int) -> np.ndarray:
    """Returns the permutation of an epoch, cut into global batches `(steps, batch_size)`.

    The remaining examples are dropped, so that one compiled function serves all steps.
    """
    steps = steps_per_epoch(count, batch_size)
    indices = permutation(seed, epoch, count)
    return indices[: steps * batch_size].reshape(steps, batch_size)


def crops_and_flips(seed: int, epoch: int, count: int, corners: int) -> np.ndarray:
    """Returns the crop and the flip of each of `count` images in an epoch.

    The draws follow the permutation in the random stream of (seed, epoch). A row has the
    row and the column of the crop's corner, uniform in 0..corners - 1, and whether the
    image is mirrored, 0 or 1.
    """
    draws = _draw(seed, epoch, 2 * count)[count:]
    rows, columns = _pixels(draws, corners, corners)
    return np.stack([rows, columns, draws >> np.uint64(63)], 1).astype("int32")


def centres(seed: int, epoch: int, count: int, height: int, width: int) -> np.ndarray:
    """Returns row and column of the centre of a square in each image of an epoch.

    The draws follow the crops and flips in the random stream of (seed, epoch).
    """
    draws = _draw(seed, epoch, 3 * count)[2 * count :]
    return np.stack(_pixels(draws, height, width), 1).astype("int32")


def integers(seed: int, epoch: int, count: int, each: int) -> np.ndarray:
    """Returns `each` integers in 0..2**31 - 1 for each of `count` images in an epoch.

    The draws follow the permutation in the random stream of (seed, epoch).
    """
    draws = _draw(seed, epoch, count * (1 + each))[count:]
    return (draws >> np.uint64(33)).astype("int32").reshape(count, each)


def _draw(seed: int, epoch: int, values: int) -> np.ndarray:
    """Returns the first `values` 64-bit outputs of the stream of (seed, epoch)."""
    return np.random.Philox(key=np.array([seed, epoch], "uint64")).random_raw(values)


def _pixels(draws: np.ndarray, rows: int, columns: int) -> list[np.ndarray]:
    """Returns a row and a column for each draw, from its low 62 bits."""
    low = draws & np.uint64(2**31 - 1)
    high = draws >> np.uint64(31) & np.uint64(2**31 - 1)
    return [low % np.uint64(rows), high % np.uint64(columns)]
