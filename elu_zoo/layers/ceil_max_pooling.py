"""Max pooling with Caffe's output size."""

from typing import Any

import keras

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
        shape, least = tuple(input_shape), self.pool_size - self.strides + 1
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
