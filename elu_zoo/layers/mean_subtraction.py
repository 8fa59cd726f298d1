"""Subtraction of the mean image of a data set."""

import functools
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
                f"The mean image {self.statistics} has the shape "
                f"{tuple(self._mean.shape)}. Received images of shape "
                f"{tuple(input_shape[1:])}. Resize the images, or build the model with "
                "preprocessing=False."
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
