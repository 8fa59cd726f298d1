"""What an epoch draws: the order of the examples, and what changes each image."""

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
    draws = _raw(seed, epoch, count, values=count)
    return np.argsort(draws, kind="stable").astype("int32")


def crops_and_flips(seed: int, epoch: int, count: int, corners: int) -> np.ndarray:
    """Returns how an epoch crops and mirrors each of `count` images.

    Like the order it depends on the arguments only; it follows that of the same
    seed and epoch in their common stream.

    Args:
        seed: the run's seed, in [0, 2**64).
        epoch: number of the epoch, from 0.
        count: number of images.
        corners: places of a crop's corner along each side of the image.

    Returns:
        int32 array `(count, 3)`: for each image row and column of the crop's corner,
        uniform in 0..corners - 1, and whether it is mirrored, 0 or 1.

    Raises:
        UsageError: an argument is out of its range.
    """
    if corners < 1:
        raise errors.UsageError(f"corners must be at least 1, got {corners}.")
    draws = _raw(seed, epoch, count, values=2 * count)[count:]
    places = np.uint64(corners)
    # Of 64 bits the highest flips, and two times 31 make the corner.
    rows = (draws & np.uint64(2**31 - 1)) % places
    columns = (draws >> np.uint64(31) & np.uint64(2**31 - 1)) % places
    return np.stack([rows, columns, draws >> np.uint64(63)], 1).astype("int32")


def integers(seed: int, epoch: int, count: int, each: int) -> np.ndarray:
    """Returns what an epoch draws for each of `count` images, `each` integers.

    Like the order they depend on the arguments only; they follow that of the same
    seed and epoch in their common stream.

    Args:
        seed: the run's seed, in [0, 2**64).
        epoch: number of the epoch, from 0.
        count: number of images.
        each: number of integers for an image, at least 1.

    Returns:
        int32 array `(count, each)`, uniform in 0..2**31 - 1.

    Raises:
        UsageError: an argument is out of its range.
    """
    if each < 1:
        raise errors.UsageError(f"each must be at least 1, got {each}.")
    draws = _raw(seed, epoch, count, values=count * (1 + each))[count:]
    return (draws >> np.uint64(33)).astype("int32").reshape(count, each)


def _raw(seed: int, epoch: int, count: int, values: int) -> np.ndarray:
    ranges = (("seed", seed, 2**64), ("epoch", epoch, 2**64), ("count", count, 2**31))
    for name, value, bound in ranges:
        if not 0 <= value < bound:
            raise errors.UsageError(
                f"{name} must be at least 0 and below {bound}, got {value}."
            )
    return np.random.Philox(key=np.array([seed, epoch], "uint64")).random_raw(values)
