"""Normalisation of the contrast of images, and of neighbouring values of a map."""

from typing import Any

import keras

_NORM = 55.0
_SMALLEST = 1e-8
_SIZE, _ALPHA, _BETA = 3, 5e-5, 0.75


@keras.saving.register_keras_serializable("elu_zoo")
class GlobalContrastNormalization(keras.layers.Layer):
    """Subtracts the mean of each image and scales it to one norm (paper, section 4.2).

    The mean over all values of an image is subtracted, and the difference is scaled to the
    Euclidean norm 55: the root mean square of 32 x 32 x 3 values is then 0.99. An image of equal
    values becomes zero. The paper cites the preprocessing of Goodfellow et al. (2013); this layer
    computes what their code in pylearn2 computes.

    Args:
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input and output shape: `(batch, height, width, channels)`.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.built = True

    def call(self, inputs: Any) -> Any:
        axes = tuple(range(1, len(inputs.shape)))
        # In float16 the sum of squares of one image would be infinite.
        dtype = keras.backend.result_type(self.compute_dtype, "float32")
        x = keras.ops.cast(inputs, dtype)
        # For an image of equal values, one subtraction leaves rounding errors, which
        # the division would scale up. A second subtraction removes them.
        for _ in range(2):
            x = x - keras.ops.mean(x, axis=axes, keepdims=True)
        squares = keras.ops.sum(keras.ops.square(x), axis=axes, keepdims=True)
        # The gradient of a root of 0 would be NaN.
        divisor = keras.ops.sqrt(keras.ops.maximum(squares, 1e-30)) / _NORM
        one = keras.ops.ones_like(divisor)
        x = x / keras.ops.where(divisor < _SMALLEST, one, divisor)
        return keras.ops.cast(x, self.compute_dtype)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape


@keras.saving.register_keras_serializable("elu_zoo")
class WithinChannelNormalization(keras.layers.Layer):
    """Local response normalisation within each channel.

    Formula:

    ```
    y = x * (1 + 5e-5 / 9 * sum(x**2))**-0.75
    ```

    The sum is over 3 x 3 neighbours in the same channel, with zeros outside of the map. This is
    the `rnorm` layer of cuda-convnet (Krizhevsky, 2012) and the LRN layer of Caffe with
    `WITHIN_CHANNEL`, whereas `tf.nn.local_response_normalization` sums over channels. The
    computation is in float32 for every dtype, because squares of raw pixels can exceed the range
    of float16.

    Args:
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input and output shape: `(batch, height, width, channels)`.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.input_spec = keras.layers.InputSpec(ndim=4)
        self.built = True

    def call(self, inputs: Any) -> Any:
        x = keras.ops.cast(inputs, "float32")
        around = (_SIZE // 2,) * 2
        # "same" pooling would divide by the number of cells inside of the map.
        squares = keras.ops.pad(keras.ops.square(x), ((0, 0), around, around, (0, 0)))
        means = keras.ops.average_pool(
            squares, _SIZE, strides=1, padding="valid", data_format="channels_last"
        )
        # On a CPU this is several times faster than a power.
        y = x * keras.ops.exp(-_BETA * keras.ops.log(1 + _ALPHA * means))
        return keras.ops.cast(y, self.compute_dtype)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape
