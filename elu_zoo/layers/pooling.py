"""Max pooling with Caffe's output size, and spatial pyramid pooling."""

import numbers
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from elu_zoo import errors


@keras.saving.register_keras_serializable("elu_zoo")
class CeilMaxPooling2D(keras.layers.Layer):
    """Max pooling as in Caffe and cuda-convnet, which round the output size up.

    `n` rows become `ceil((n - pool_size) / strides) + 1` rows. The first window starts
    at the first row; cells of the last window that are outside of the map are ignored.
    Columns are pooled like rows. For many sizes, "same" pooling of Keras has another
    output size or other windows.

    Args:
        pool_size: rows and columns of a window, an integer >= `strides`.
        strides: rows and columns between windows, an integer >= 1.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input shape: `(batch, height, width, channels)`; height and width are greater than
    `pool_size - strides`.

    Output shape: `(batch, pooled height, pooled width, channels)`.

    Raises:
        UsageError: an argument is out of range, or the map is too small.
    """

    def __init__(self, pool_size: int, strides: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        errors.check_integer("strides", strides, minimum=1)
        errors.check_integer("pool_size", pool_size, minimum=strides)
        self.pool_size = pool_size
        self.strides = strides
        self.built = True

    def call(self, inputs: Any) -> Any:
        inputs = keras.ops.cast(inputs, self.compute_dtype)
        pooled = self.compute_output_shape(inputs.shape)[1:3]
        sides = list(zip(inputs.shape[1:3], pooled, strict=True))
        # Cells beyond the last window of a map of unknown size are not pooled.
        padding, after = "valid", [self.strides - 1] * 2
        if None not in pooled:
            after = [(m - 1) * self.strides + self.pool_size - n for n, m in sides]
            # For these sizes "same" pooling has the same windows, without a copy.
            if all(m == -(-n // self.strides) for n, m in sides) and max(after) <= 1:
                padding = "same"
        if padding == "valid" and any(after):
            around = ((0, 0), *((0, n) for n in after), (0, 0))
            inputs = keras.ops.pad(inputs, around, constant_values=-float("inf"))
        if self.strides < self.pool_size and keras.backend.backend() == "tensorflow":
            return _overlapping(inputs, self.pool_size, self.strides, padding.upper())
        return keras.ops.max_pool(
            inputs, self.pool_size, self.strides, padding, data_format="channels_last"
        )

    def compute_output_shape(self, input_shape: Any) -> tuple[Any, ...]:
        # JAX exports maps of unknown size with symbols as sizes.
        shape = tuple(int(n) if isinstance(n, numbers.Integral) else None for n in input_shape)
        least = self.pool_size - self.strides + 1
        known = [n for n in shape[1:3] if n is not None]
        if len(shape) != 4 or min(known, default=least) < least:
            raise errors.UsageError(
                f"Max pooling with pool_size={self.pool_size} and strides="
                f"{self.strides} needs a map (batch, height, width, channels) of at "
                f"least {least} x {least}. Received: {shape}."
            )
        batch, *sizes, channels = shape
        pooled = [n and 1 - (self.pool_size - n) // self.strides for n in sizes]
        return batch, *pooled, channels

    def get_config(self) -> dict[str, Any]:
        own = {"pool_size": self.pool_size, "strides": self.strides}
        return {**super().get_config(), **own}


def _overlapping(maps: Any, size: int, strides: int, padding: str) -> Any:
    """Returns pooled maps, with a gradient that is bit-equal in every graph.

    For the gradient, TensorFlow uses oneDNN's kernel in most graphs and its own kernel
    in some. The kernels add gradients of overlapping windows in different orders, so
    that a resumed run would not be bit-equal. This function always uses TensorFlow's
    kernel. Without XLA, both passes then take 3 to 4 times as long on two cores.
    """
    import tensorflow as tf

    @tf.custom_gradient
    def pooled(maps):
        outputs = tf.nn.max_pool2d(maps, size, strides, padding)

        def gradient(upstream):
            # oneDNN's kernel is used only if `orig_output` is oneDNN's own output.
            copied = tf.maximum(outputs, outputs.dtype.min)
            return tf.raw_ops.MaxPoolGrad(
                orig_input=maps,
                orig_output=copied,
                grad=upstream,
                ksize=[1, size, size, 1],
                strides=[1, strides, strides, 1],
                padding=padding,
            )

        return outputs, gradient

    return pooled(maps)


@keras.saving.register_keras_serializable("elu_zoo")
class SpatialPyramidPooling(keras.layers.Layer):
    """Spatial pyramid pooling (He et al., 2014; paper, section 4.4).

    A level of `n` computes the maxima of n x n bins. The bins are those of `SPPLayer`
    in Caffe, probably the paper's framework: adjacent windows of `r = ceil(size / n)` rows, the
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
    """Returns the first row and the row after the last row of each bin."""
    ops = np if isinstance(size, int) else keras.ops
    numbers, rows = np.arange(bins, dtype=np.int32), -(-size // bins)
    starts = numbers * rows - (bins * rows - size + 1) // 2
    first, after = ops.maximum(starts, 0), ops.minimum(starts + rows, size)
    fits = ops.all(first < after)
    first = ops.where(fits, first, numbers * size // bins)
    after = ops.where(fits, after, -(-(numbers + 1) * size // bins))
    return [(first[i], after[i]) for i in range(bins)]
