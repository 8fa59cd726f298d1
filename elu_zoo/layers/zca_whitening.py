"""Whitening of images by a fitted matrix."""

import functools
import math
from typing import Any

import keras

from elu_zoo import errors
from elu_zoo.layers import statistics_file
from elu_zoo.layers.constant import constant, used


@keras.saving.register_keras_serializable("elu_zoo")
class ZCAWhitening(keras.layers.Layer):
    """Whitens images: (x - mean) P, P = (covariance + 0.1 I)^(-1/2) (section 4.2).

    Mean and matrix are not weights: they belong to the data set, are read from a
    statistics file, and are not saved in weight files. The file holds them in
    float16, whatever dtype the layer computes in.

    Args:
        statistics: the name of a statistics file or of a data set; see
            `elu_zoo.layers.statistics_file.find`.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input and output shape: `(batch, height, width, channels)`, with as many values
    an image as the statistics.

    Raises:
        NotFoundError: the file does not exist.
        CorruptError: the file is damaged.
        UsageError: the images have another number of values.
    """

    def __init__(self, statistics: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.statistics = statistics

    def build(self, input_shape: Any) -> None:
        self.statistics = statistics_file.find(self.statistics).stem
        self._mean, self._matrix = _tensors(self.statistics, self.compute_dtype)
        values = self._mean.shape[0]
        if math.prod(input_shape[1:]) != values:
            raise errors.UsageError(
                f"The statistics {self.statistics} whiten images of {values} "
                f"values. Received the shape {tuple(input_shape[1:])}. Resize the "
                "images, or build the model with preprocessing=False."
            )

    def call(self, inputs: Any) -> Any:
        shape = keras.ops.shape(inputs)
        flat = keras.ops.reshape(inputs, (shape[0], math.prod(inputs.shape[1:])))
        whitened = keras.ops.matmul(flat - used(self._mean), used(self._matrix))
        return keras.ops.reshape(whitened, (shape[0], *inputs.shape[1:]))

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "statistics": self.statistics}


@functools.lru_cache(maxsize=2)
def _tensors(name: str, dtype: str) -> tuple[Any, Any]:
    """Returns mean and matrix, 38 MB that all layers of a process share."""
    found = statistics_file.read(name)
    return constant(found.mean, dtype), constant(found.matrix, dtype)
