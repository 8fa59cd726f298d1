"""Spatial pyramid pooling, which has a fixed output size for maps of any size."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from elu_zoo import errors


@keras.saving.register_keras_serializable("elu_zoo")
class SpatialPyramidPooling(keras.layers.Layer):
    """Spatial pyramid pooling (He et al., 2014; paper, section 4.4).

    A level of `n` computes the maxima of n x n bins. The bins are those of `SPPLayer`
    in Caffe, the paper's framework: adjacent windows of `r = ceil(size / n)` rows, the
    first of which starts `(n * r - size + 1) // 2` rows before the map. For a few sizes
    a bin of Caffe would be empty, and Caffe stops with an error. Here, for these sizes,
    bin i extends from `floor(i * size / n)` to `ceil((i + 1) * size / n)`, as in He et
    al. Columns are divided like rows.

    Args:
        levels: number of bins along each side, for each level. (1, 2, 4) is Caffe's
            pyramid of height 3, and our choice for the paper's "3 levels".
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input shape: `(batch, height, width, channels)`. Height and width must be at least
    `max(levels)`; in a map of unknown size this is not checked, and bins overlap.

    Output shape: `(batch, channels * (sum of n * n over the levels))`. Values are
    sorted by level, then by row, column and channel.

    Raises:
        UsageError: the levels are not integers >= 1, or the map is smaller than the
            largest level.
    """

    def __init__(self, levels: Sequence[int] = (1, 2, 4), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_levels(levels)
        self.levels = tuple(levels)
        self.built = True

    def call(self, inputs: Any) -> Any:
        _check_map(inputs.shape, self.levels)
        _, height, width, _ = keras.ops.shape(inputs)
        maxima = []
        for bins in self.levels:
            for top, bottom in bin_edges(height, bins):
                rows = keras.ops.max(inputs[:, top:bottom], axis=1)
                for left, right in bin_edges(width, bins):
                    maxima.append(keras.ops.max(rows[:, left:right], axis=1))
        return keras.ops.concatenate(maxima, axis=-1)

    def compute_output_shape(self, input_shape: Any) -> tuple[Any, int]:
        _check_map(input_shape, self.levels)
        batch, _, _, channels = input_shape
        return batch, sum(bins * bins for bins in self.levels) * channels

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "levels": list(self.levels)}


def _check_map(shape: Any, levels: Sequence[int]) -> None:
    """Checks that a map `(batch, height, width, channels)` has a pixel for each bin."""
    shape, least = tuple(shape), max(levels)
    known = [n for n in shape[1:3] if n is not None]
    if len(shape) != 4 or shape[3] is None or min(known, default=least) < least:
        raise errors.UsageError(
            f"Spatial pyramid pooling with levels {tuple(levels)} needs a map (batch, "
            f"height, width, channels) of at least {least} x {least} pixels. "
            f"Received: {shape}. Use larger images or smaller levels."
        )


def check_levels(levels: Any) -> None:
    """Checks the levels of a pyramid."""
    try:
        entries = list(levels)
    except TypeError:
        entries = []
    integers = [type(n) is int and n > 0 for n in entries]
    if not integers or not all(integers):
        raise errors.UsageError(
            "The levels of a pyramid must be integers >= 1, such as (1, 2, 4). "
            f"Received: {levels!r}."
        )


def bin_edges(size: Any, bins: int) -> list[tuple[Any, Any]]:
    """Returns the first row and the row after the last row of each bin.

    Args:
        size: number of rows of the map, an integer or a scalar tensor.
        bins: number of bins.
    """
    ops = np if isinstance(size, int) else keras.ops
    numbers, rows = np.arange(bins, dtype=np.int32), -(-size // bins)
    starts = numbers * rows - (bins * rows - size + 1) // 2
    first, after = ops.maximum(starts, 0), ops.minimum(starts + rows, size)
    fits = ops.all(first < after)
    first = ops.where(fits, first, numbers * size // bins)
    after = ops.where(fits, after, -(-(numbers + 1) * size // bins))
    return [(first[i], after[i]) for i in range(bins)]
