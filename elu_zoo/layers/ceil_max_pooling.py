"""Max pooling whose last window may reach beyond the map."""

from typing import Any

import keras

from elu_zoo import errors


@keras.saving.register_keras_serializable("elu_zoo")
class CeilMaxPooling2D(keras.layers.Layer):
    """Max pooling as in Caffe and cuda-convnet, which round the size up.

    A side of `n` rows becomes `ceil((n - pool_size) / strides) + 1`. Windows start at
    the first row; what the last one has beyond the map does not count. Keras' "same"
    pooling gives another size, or starts before the map, unless the two happen to
    agree. Columns likewise.

    Args:
        pool_size: rows and columns of a window, an integer >= 1.
        strides: rows and columns between windows, an integer from 1 to `pool_size`.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input shape: `(batch, height, width, channels)`; height and width are fixed and
    greater than `pool_size - strides`.

    Output shape: `(batch, pooled height, pooled width, channels)`.

    Raises:
        UsageError: arguments out of range, a map whose size is unknown or too small.
    """

    def __init__(self, pool_size: int, strides: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        integers = type(pool_size) is int and type(strides) is int
        if not integers or not 1 <= strides <= pool_size:
            raise errors.UsageError(
                "Pooling takes integers 1 <= strides <= pool_size. Received: "
                f"pool_size={pool_size!r}, strides={strides!r}."
            )
        self.pool_size = pool_size
        self.strides = strides
        self.built = True

    def call(self, inputs: Any) -> Any:
        pooled = self.compute_output_shape(inputs.shape)[1:3]
        sides = list(zip(inputs.shape[1:3], pooled, strict=True))
        after = [(m - 1) * self.strides + self.pool_size - n for n, m in sides]
        padding = "valid"
        # "same" pads what is odd at the end: then it needs no padded copy of the map.
        if all(m == -(-n // self.strides) for n, m in sides) and max(after) <= 1:
            padding = "same"
        elif any(after):
            around = ((0, 0), *((0, n) for n in after), (0, 0))
            inputs = keras.ops.pad(inputs, around, constant_values=-float("inf"))
        if self.strides < self.pool_size and keras.backend.backend() == "tensorflow":
            return _overlapping(inputs, self.pool_size, self.strides, padding.upper())
        return keras.ops.max_pool(
            inputs, self.pool_size, self.strides, padding, data_format="channels_last"
        )

    def compute_output_shape(self, input_shape: Any) -> tuple[Any, ...]:
        shape, least = tuple(input_shape), self.pool_size - self.strides + 1
        if len(shape) != 4 or None in shape[1:3] or min(shape[1:3]) < least:
            raise errors.UsageError(
                f"Pooling of {self.pool_size} with strides {self.strides} takes a map "
                f"(batch, height, width, channels) of fixed size, at least {least} x "
                f"{least}. Received: {shape}."
            )
        batch, *sizes, channels = shape
        steps = [-((self.pool_size - n) // self.strides) for n in sizes]
        return batch, *(n + 1 for n in steps), channels

    def get_config(self) -> dict[str, Any]:
        own = {"pool_size": self.pool_size, "strides": self.strides}
        return {**super().get_config(), **own}


def _overlapping(maps: Any, size: int, strides: int, padding: str) -> Any:
    """Pools with a gradient that every program rounds alike.

    TensorFlow takes oneDNN's kernel for the gradient in most programs and its own in a
    few, which add the gradients of windows that overlap in different orders: a run and
    its resumption would not be equal to the last bit. Only its own is taken here, which
    made both passes together 3 to 4 times as slow, without XLA, on two cores.
    """
    import tensorflow as tf

    @tf.custom_gradient
    def pooled(maps):
        outputs = tf.nn.max_pool2d(maps, size, strides, padding)

        def gradient(upstream):
            # oneDNN's kernel is taken only for what its pooling itself returned.
            hidden = tf.maximum(outputs, outputs.dtype.min)
            return tf.raw_ops.MaxPoolGrad(
                orig_input=maps,
                orig_output=hidden,
                grad=upstream,
                ksize=[1, size, size, 1],
                strides=[1, strides, strides, 1],
                padding=padding,
            )

        return outputs, gradient

    return pooled(maps)
