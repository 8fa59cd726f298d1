"""Checks of the shape that images are adapted to, and of what they then take."""

import math
from typing import Any

from elu_zoo import errors

LEAST_SIDE = 8  # pixels; a smaller picture is one of nothing
_LIMIT_BYTES = 2**31  # of the pixels of images of one's own


def check_shape(shape: Any) -> tuple[int, int, int]:
    """Returns the shape of images as a tuple.

    Raises:
        UsageError: it is not height, width and 1 or 3 channels.
    """
    try:
        found = tuple(int(n) for n in shape if n == int(n))
    except (TypeError, ValueError):
        found = ()
    whole = len(found) == 3 == len(tuple(shape)) and min(found) > 0
    if not whole or found[2] not in (1, 3):
        raise errors.UsageError(
            "image_shape is (height, width, channels), with 1 or 3 channels. Received: "
            f"{shape!r}."
        )
    return found


def check_size(count: int, shape: tuple[int, ...]) -> None:
    """Refuses images that would not fit the memory.

    Args:
        count: how many.
        shape: of each.

    Raises:
        ResourceError: more than 2 GiB of pixels.
    """
    size = count * math.prod(shape)
    if size > _LIMIT_BYTES:
        raise errors.ResourceError(
            f"{count} images of {tuple(shape)} take {size / 2**30:.1f} GiB of memory; "
            f"{_LIMIT_BYTES // 2**30} GiB is the limit. Take a smaller image_shape, or "
            "train elu_imagenet_15, whose images stay on the disk."
        )
