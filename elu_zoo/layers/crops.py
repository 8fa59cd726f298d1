"""Crops, flips and cutout of images, computed from random draws."""

from collections.abc import Sequence
from typing import Any

import keras

from elu_zoo import errors


@keras.saving.register_keras_serializable("elu_zoo")
class PadCropFlip(keras.layers.Layer):
    """Pads, crops and mirrors images (paper, sections 4.2 and 4.4).

    The random draws are an input, so that compared runs see the same crops on every
    backend and any number of devices.

    Args:
        padding: number of rows and columns added on each side.
        size: `(height, width)` of the crops; None for the size of the images.
        value: value of the padding. For whitened images pass 0, the value of the mean
            image. For raw images pass the value that preprocessing maps to 0.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Inputs: images `(batch, height, width, channels)`, and integers
    `(row, column, flip)` of shape `(batch, 3)`. `row` and `column` are the first row and column of
    the crop in the padded image. `flip` is 1 for a left-right mirror image and 0 otherwise.

    Output shape: `(batch, *size, channels)`.

    Raises:
        UsageError: the crops are larger than the padded images.
    """

    def __init__(
        self, padding: int = 4, size: Sequence[int] | None = None, value: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.padding = padding
        self.size = None if size is None else tuple(size)
        self.value = value
        self.built = True

    def call(self, images: Any, draws: Any) -> Any:
        channels = images.shape[-1]
        padded_height, padded_width = (n + 2 * self.padding for n in images.shape[1:3])
        height, width = self._size(images.shape)
        count = keras.ops.shape(images)[0]
        draws = keras.ops.cast(draws, "int32")
        around = self.padding, self.padding
        pads = (0, 0), around, around, (0, 0)
        padded = keras.ops.pad(images, pads, constant_values=self.value)
        rows = draws[:, 0, None] + keras.ops.arange(height, dtype="int32")
        columns = keras.ops.arange(width, dtype="int32")
        columns = keras.ops.where(draws[:, 2, None] > 0, width - 1 - columns, columns)
        columns = columns + draws[:, 1, None]
        # One gather from the pixels of all images is fast on every backend.
        pixels = padded_height * padded_width
        first = pixels * keras.ops.arange(count, dtype="int32")[:, None, None]
        indices = first + rows[:, :, None] * padded_width + columns[:, None, :]
        padded = keras.ops.reshape(padded, (count * pixels, channels))
        return keras.ops.take(padded, indices, axis=0)

    def compute_output_shape(self, images_shape: Any, draws_shape: Any) -> Any:
        return (images_shape[0], *self._size(images_shape), images_shape[-1])

    def get_config(self) -> dict[str, Any]:
        own = {"padding": self.padding, "size": self.size, "value": self.value}
        return {**super().get_config(), **own}

    def _size(self, images_shape: Any) -> tuple[int, ...]:
        image_size = tuple(images_shape[1:3])
        size = self.size or image_size
        if any(n > m + 2 * self.padding for n, m in zip(size, image_size, strict=True)):
            raise errors.UsageError(
                f"Crops of {size} do not fit into images of {image_size} with "
                f"{self.padding} pixels of padding on each side. Pass a smaller size."
            )
        return size


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
