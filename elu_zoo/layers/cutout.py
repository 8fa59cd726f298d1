"""Cutout, which sets squares of images to one value."""

from typing import Any

import keras

from elu_zoo import errors


@keras.saving.register_keras_serializable("elu_zoo")
class Cutout(keras.layers.Layer):
    """Sets a square of each image to one value (DeVries and Taylor, 2017).

    Args:
        size: number of rows and columns of the square, at least 1.
        value: the value. For whitened images pass 0, the value of the mean image. For
            raw images pass the value that preprocessing maps to 0.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Inputs: images `(batch, height, width, channels)`, and the centres of the squares,
    integers `(row, column)` of shape `(batch, 2)`. A square starts `size // 2` pixels
    above and left of its centre. Pixels outside of the image are ignored.

    Output shape: the shape of the images.

    Raises:
        UsageError: `size` is not an integer >= 1.

    Reference: https://arxiv.org/abs/1708.04552
    """

    def __init__(self, size: int, value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        errors.check_integer("size", size, minimum=1)
        self.size = size
        self.value = value
        self.built = True

    def call(self, images: Any, centres: Any) -> Any:
        first = keras.ops.cast(centres, "int32") - self.size // 2
        rows, columns = (
            self._is_in_square(n, first[:, axis, None]) for axis, n in enumerate(images.shape[1:3])
        )
        square = rows[:, :, None, None] & columns[:, None, :, None]
        return keras.ops.where(square, keras.ops.full_like(images, self.value), images)

    def _is_in_square(self, pixels: int, first: Any) -> Any:
        """Returns whether pixels of an axis are in the square, `(batch, pixels)`."""
        offsets = keras.ops.arange(pixels, dtype="int32") - first
        return (offsets >= 0) & (offsets < self.size)

    def compute_output_shape(self, images_shape: Any, centres_shape: Any) -> Any:
        return images_shape

    def get_config(self) -> dict[str, Any]:
        own = {"size": self.size, "value": self.value}
        return {**super().get_config(), **own}
