"""Random crops and flips whose draws are given, not made."""

from typing import Any

import keras


@keras.saving.register_keras_serializable("elu_zoo")
class PadCropFlip(keras.layers.Layer):
    """Pads images with zeros, crops each to its old size, mirrors some (paper, 4.2).

    What is drawn for an image is an input of the layer: runs to be compared see the
    same crops, on every backend and any number of devices. After whitening a zero
    is the mean image's value.

    Args:
        padding: rows and columns of zeros on every side.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Inputs: images `(batch, height, width, channels)`, and for each of them integers
    `(row, column, flip)`, `(batch, 3)`: the crop's corner in 0..2 * padding, and 1
    for a mirror image, left to right, else 0.

    Output shape: that of the images.
    """

    def __init__(self, padding: int = 4, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.padding = padding
        self.built = True

    def call(self, images: Any, draws: Any) -> Any:
        height, width, channels = images.shape[1:]
        count = keras.ops.shape(images)[0]
        draws = keras.ops.cast(draws, "int32")
        around = self.padding, self.padding
        padded = keras.ops.pad(images, ((0, 0), around, around, (0, 0)))
        rows = draws[:, 0, None] + keras.ops.arange(height, dtype="int32")
        columns = keras.ops.arange(width, dtype="int32")
        columns = keras.ops.where(draws[:, 2, None] > 0, width - 1 - columns, columns)
        columns = columns + draws[:, 1, None]
        # One gather of pixels from all images, which is fast on every backend.
        padded_width = width + 2 * self.padding
        pixels = (height + 2 * self.padding) * padded_width
        first = pixels * keras.ops.arange(count, dtype="int32")[:, None, None]
        indices = first + rows[:, :, None] * padded_width + columns[:, None, :]
        padded = keras.ops.reshape(padded, (count * pixels, channels))
        return keras.ops.take(padded, indices, axis=0)

    def compute_output_shape(self, images_shape: Any, draws_shape: Any) -> Any:
        return images_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "padding": self.padding}
