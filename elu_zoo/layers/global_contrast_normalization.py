"""Global contrast normalisation of images."""

from typing import Any

import keras

_SMALLEST = 1e-8


@keras.saving.register_keras_serializable("elu_zoo")
class GlobalContrastNormalization(keras.layers.Layer):
    """Centres every image and scales it to one norm (paper, section 4.2).

    From each image its mean over all values is subtracted, and what is left is
    divided by its Euclidean norm over `norm`. An image of equal values becomes zeros.
    It is what pylearn2 did for the CIFAR experiments of Goodfellow et al. (2013),
    whose preprocessing the paper takes over.

    Args:
        norm: Euclidean norm of every image that leaves the layer; with 55 and
            32 x 32 x 3 values their root mean square is 0.99.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input and output shape: `(batch, height, width, channels)`.
    """

    def __init__(self, norm: float = 55.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.norm = norm
        self.built = True

    def call(self, inputs: Any) -> Any:
        axes = tuple(range(1, len(inputs.shape)))
        x = keras.ops.cast(inputs, self.compute_dtype)
        # Twice: what rounding leaves of an image of equal values would be scaled up.
        for _ in range(2):
            x = x - keras.ops.mean(x, axis=axes, keepdims=True)
        squares = keras.ops.sum(keras.ops.square(x), axis=axes, keepdims=True)
        divisor = keras.ops.sqrt(squares) / self.norm
        one = keras.ops.ones_like(divisor)
        return x / keras.ops.where(divisor < _SMALLEST, one, divisor)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "norm": self.norm}
