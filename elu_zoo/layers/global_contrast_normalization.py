"""Global contrast normalisation of images."""

from typing import Any

import keras

from elu_zoo import errors

_SMALLEST = 1e-8


@keras.saving.register_keras_serializable("elu_zoo")
class GlobalContrastNormalization(keras.layers.Layer):
    """Subtracts the mean of each image and normalises its norm (paper, section 4.2).

    The mean over all values of an image is subtracted, and the difference is scaled to
    the Euclidean norm `norm`. An image of equal values becomes zero. The paper cites
    the preprocessing of Goodfellow et al. (2013); this layer computes what their code
    in pylearn2 computes.

    Args:
        norm: Euclidean norm of every output image. With a norm of 55 the root mean
            square of 32 x 32 x 3 values is 0.99.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input and output shape: `(batch, height, width, channels)`.

    Raises:
        UsageError: `norm` is not finite and > 0.
    """

    def __init__(self, norm: float = 55.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        errors.check_positive("norm", norm)
        self.norm = norm
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
        divisor = keras.ops.sqrt(squares) / self.norm
        one = keras.ops.ones_like(divisor)
        x = x / keras.ops.where(divisor < _SMALLEST, one, divisor)
        return keras.ops.cast(x, self.compute_dtype)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "norm": self.norm}
