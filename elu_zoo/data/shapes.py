"""Checks of the shape to which images are adapted, and of their memory."""

import math
from typing import Any

from elu_zoo import errors

Shape = tuple[int, int, int]  # (height, width, channels)

MIN_SIDE = 8  # pixels; nothing can be recognised in a smaller image
_LIMIT_BYTES = 2**31  # for the pixels of a user's images


def check_shape(shape: Any) -> Shape:
    """Returns a shape as a tuple of integers."""
    try:
        sizes = tuple(int(n) for n in shape)
        is_valid = sizes == tuple(shape) and len(sizes) == 3 and min(sizes) > 0
    except (TypeError, ValueError):
        is_valid = False
    if not is_valid or sizes[2] not in (1, 3):
        raise errors.UsageError(
            "image_shape must be (height, width, channels) with 1 or 3 channels. "
            f"Received: {shape!r}."
        )
    return sizes


def check_memory(count: int, shape: tuple[int, ...]) -> None:
    """Checks that `count` images of a shape take at most 2 GiB."""
    size = count * math.prod(shape)
    if size > _LIMIT_BYTES:
        raise errors.ResourceError(
            f"{count} images of {tuple(shape)} take {size / 2**30:.1f} GiB of memory; "
            f"{_LIMIT_BYTES // 2**30} GiB is the limit. Use a smaller image_shape "
            "(image_size of finetune), or train elu_imagenet_15, which keeps its images on disk."
        )
