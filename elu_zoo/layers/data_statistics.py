"""Layers that apply the mean image or the whitening matrix of a data set."""

import functools
import math
from typing import Any

import keras

from elu_zoo import errors
from elu_zoo.layers import statistics_file
from elu_zoo.layers.constant import captured, constant


@keras.saving.register_keras_serializable("elu_zoo")
class MeanSubtraction(keras.layers.Layer):
    """Subtracts the mean image of a data set (paper, section 4.4).

    The mean image is not a weight of the layer. The layer reads it from a statistics
    file of the data set, and weight files do not contain it.

    Args:
        statistics: the name of a statistics file or of a data set; see
            `elu_zoo.layers.statistics_file.find`.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input and output shape: `(batch, height, width, channels)`, the shape of the mean
    image.

    Raises:
        NotFoundError: the file does not exist.
        CorruptError: the file is damaged.
        UsageError: the shape of the images differs from the mean image's.
    """

    def __init__(self, statistics: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.statistics = statistics

    def build(self, input_shape: Any) -> None:
        self.statistics = statistics_file.find(self.statistics, "mean").stem
        self._mean = _tensor(self.statistics, self.compute_dtype)
        if tuple(input_shape[1:]) != tuple(self._mean.shape):
            raise errors.UsageError(
                f"The mean image {self.statistics} has the shape {tuple(self._mean.shape)}. "
                f"Received images of shape {tuple(input_shape[1:])}. Resize the images, or build "
                "the model with preprocessing=False."
            )

    def call(self, inputs: Any) -> Any:
        return keras.ops.cast(inputs, self.compute_dtype) - captured(self._mean)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "statistics": self.statistics}


@functools.lru_cache(maxsize=2)
def _tensor(name: str, dtype: str) -> Any:
    return constant(statistics_file.read_mean(name), dtype)


@keras.saving.register_keras_serializable("elu_zoo")
class ZCAWhitening(keras.layers.Layer):
    """Whitens images with the ZCA matrix of a data set (paper, section 4.2).

    An image x, contrast-normalised to the norm 55, becomes (x - mean) P, where P = (covariance +
    0.1 I)^(-1/2). The mean and P are not weights of the layer. The layer reads them from a
    statistics file of the data set (float16), and weight files do not contain them.

    Args:
        statistics: the name of a statistics file or of a data set; see
            `elu_zoo.layers.statistics_file.find`.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input and output shape: `(batch, height, width, channels)`, with as many values per
    image as the mean.

    Raises:
        NotFoundError: the file does not exist.
        CorruptError: the file is damaged.
        UsageError: the number of values per image differs from the mean's.
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
                f"The statistics {self.statistics} fit images of {values} values. "
                f"Received images of shape {tuple(input_shape[1:])}. Resize the "
                "images, or build the model with preprocessing=False."
            )

    def call(self, inputs: Any) -> Any:
        shape = keras.ops.shape(inputs)
        inputs = keras.ops.cast(inputs, self.compute_dtype)
        flat = keras.ops.reshape(inputs, (shape[0], math.prod(inputs.shape[1:])))
        centred = flat - captured(self._mean)
        whitened = keras.ops.matmul(centred, captured(self._matrix))
        return keras.ops.reshape(whitened, (shape[0], *inputs.shape[1:]))

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "statistics": self.statistics}


@functools.lru_cache(maxsize=2)
def _tensors(name: str, dtype: str) -> tuple[Any, Any]:
    """Returns mean and matrix, cached because the matrix of CIFAR takes 38 MB."""
    statistics = statistics_file.read(name)
    return constant(statistics.mean, dtype), constant(statistics.matrix, dtype)
