"""Checks of the shape to which images are adapted, of their memory and of pixels."""

import math
import operator
from typing import Any

import numpy as np

from elu_zoo import errors

Shape = tuple[int, int, int]  # (height, width, channels)

MIN_SIDE = 8  # pixels; nothing can be recognised in a smaller image
_LIMIT_BYTES = 2**31  # for the pixels of a user's images


def check_shape(shape: Any) -> Shape:
    """Returns a shape as a tuple of integers."""
    try:
        height, width, channels = map(operator.index, shape)
    except (TypeError, ValueError):
        height = width = channels = 0
    if min(height, width) < 1 or channels not in (1, 3):
        raise errors.UsageError(
            "image_shape must be (height, width, channels) with 1 or 3 channels. "
            f"Received: {shape!r}."
        )
    return height, width, channels


def to_pixels(array: np.ndarray, name: str, error: type[errors.EluZooError]) -> np.ndarray:
    """Returns numbers 0..255 as uint8; floats in [0, 1] only are on another scale."""
    if array.dtype == np.uint8 or not array.size:
        return array.astype(np.uint8, copy=False)
    lowest, highest = array.min(), array.max()
    is_unit = array.dtype.kind == "f" and 0 <= lowest and 0 < highest <= 1
    if is_unit or not 0 <= lowest <= highest <= 255:
        remedy = "Multiply pixels in [0, 1] by 255" if is_unit else "Scale them; replace NaN"
        raise error(
            f"{name} must be 0..255. Received: {lowest} to {highest} of {array.dtype}. {remedy}."
        )
    return np.rint(array).astype(np.uint8)


def check_memory(count: int, shape: tuple[int, ...]) -> None:
    """Checks that `count` images of a shape take at most 2 GiB."""
    size = count * math.prod(shape)
    if size > _LIMIT_BYTES:
        raise errors.ResourceError(
            f"{count} images of {tuple(shape)} take {size / 2**30:.1f} GiB of memory; "
            f"{_LIMIT_BYTES // 2**30} GiB is the limit. Use a smaller image_shape "
            "(image_size of finetune), or train elu_imagenet_15, which keeps its images on disk."
        )
