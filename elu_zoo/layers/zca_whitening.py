"""Whitening of images by a fitted matrix."""

import math
from typing import Any

import keras

from elu_zoo import errors
from elu_zoo.layers import statistics


@keras.saving.register_keras_serializable("elu_zoo")
class ZCAWhitening(keras.layers.Layer):
    """Whitens images: (x - mean) P, P = (covariance + 0.1 I)^(-1/2) (paper, 4.2).

    Mean and matrix are not weights of the model: they belong to the data set, come
    from a file of their own, and are no part of a weight file.

    Args:
        statistics: the name of the file, or of a data set whose statistics ship
            with the package; see `elu_zoo.layers.statistics.find`.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input and output shape: `(batch, height, width, channels)`, of the images that
    the statistics were fitted on.

    Raises:
        NotFoundError: there is no such file.
        CorruptError: the file is damaged.
        UsageError: the images have another number of values.
    """

    def __init__(self, statistics: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.statistics = statistics

    def build(self, input_shape: Any) -> None:
        self.statistics = statistics.find(self.statistics).stem
        found = statistics.read(self.statistics)
        if math.prod(input_shape[1:]) != len(found.mean):
            raise errors.UsageError(
                f"The statistics {self.statistics} whiten images of {len(found.mean)} "
                f"values. Received the shape {tuple(input_shape[1:])}. Resize the "
                "images, or build the model with preprocessing=False."
            )
        self._mean = keras.ops.convert_to_tensor(found.mean, self.compute_dtype)
        self._matrix = keras.ops.convert_to_tensor(found.matrix, self.compute_dtype)

    def call(self, inputs: Any) -> Any:
        shape = keras.ops.shape(inputs)
        flat = keras.ops.reshape(inputs, (shape[0], math.prod(inputs.shape[1:])))
        whitened = keras.ops.matmul(flat - self._mean, self._matrix)
        return keras.ops.reshape(whitened, (shape[0], *inputs.shape[1:]))

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "statistics": self.statistics}
