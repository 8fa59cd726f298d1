"""Affine transformations and colour changes, computed from random draws."""

import math
from typing import Any

import keras

from elu_zoo import errors

_BITS = 31  # number of random bits of a draw
_STRETCH = _ANGLE = 0.2  # relative change of size; shear, or rotation in radians
_SHIFT = 16  # pixels
# A pixel changes colour if a channel differs from the background by more gray levels.
_CONTRAST = 2.0
# Standard deviations in gray levels: of the level added to a channel, and of gradients
# per pixel from left to right and from top to bottom. Graham's archived code truncates
# 25.5, 2.4 and 2.4 to these integers, and 0.15 for a contrast change to 0.
_COLORS = {"level": 25.0, "columns": 2.0, "rows": 2.0}
# Names of the first draws. One draw per channel follows for each entry of _COLORS.
_AFFINE = "stretch_x", "stretch_y", "mirror", "kind", "angle", "shift_x", "shift_y"


@keras.saving.register_keras_serializable("elu_zoo")
class AffineRecolor(keras.layers.Layer):
    """Random affine transformations and colour changes (Graham, 2014).

    The image is placed in the middle of a square field with the background `value` and
    shifted by up to 16 pixels along each axis. Width and height change by up to 20 %
    each, and half of the images are mirrored. Each image undergoes one of three
    transformations: a shear along x or along y by up to 0.2, or a rotation by up to
    0.2 radians. The centre of the transformations is the middle of the image (in
    Graham's archived code, a point half a pixel away). Interpolation is bilinear.

    The colour of a pixel changes if any channel differs from `value` by more than 2 gray levels.
    Each channel then gets a normal number with standard deviation 25, plus gradients with standard
    deviation 2 per pixel from left to right and from top to bottom. Results are not clipped. The
    random draws are an input, so that compared runs see the same images on any number of devices.

    Args:
        size: height and width of the field, in pixels.
        value: gray level of the background; set it to what preprocessing maps to 0.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Inputs: raw 0..255 images `(batch, height, width, channels)`, and integers
    `(batch, draws(channels))`, uniform in 0..2**31 - 1. If all draws are `STILL`, the
    image is unchanged; a side of n pixels then starts at pixel `(size - n) // 2`.

    Output shape: `(batch, size, size, channels)`, in float32.

    Raises:
        UsageError: the field is smaller than the images.
    """

    STILL = 2 ** (_BITS - 1)  # the draw that leaves an image unchanged

    def __init__(self, size: int, value: float = 128.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size = size
        self.value = value
        self.built = True

    @staticmethod
    def draws(channels: int) -> int:
        """Returns the number of draws for an image."""
        return len(_AFFINE) + len(_COLORS) * channels

    def call(self, images: Any, draws: Any) -> Any:
        self._check(images.shape)
        images = keras.ops.cast(images, "float32")
        drawn = {name: _uniform(draws[:, i]) for i, name in enumerate(_AFFINE)}
        height, width = images.shape[1:3]
        x = self._distances(drawn["shift_x"], width)[:, None, :]
        y = self._distances(drawn["shift_y"], height)[:, :, None]
        (a, b), (c, d) = _inverse_matrix(drawn)
        moved = self._interpolate(images, a * x + c * y, b * x + d * y)
        contrast = keras.ops.abs(moved - self.value)
        recolored = keras.ops.any(contrast > _CONTRAST, axis=-1, keepdims=True)
        colors = dict(zip(_COLORS, self._colors(draws, images.shape[-1]), strict=True))
        slopes = colors["columns"] * x[..., None] + colors["rows"] * y[..., None]
        added = colors["level"] + slopes
        return moved + keras.ops.where(recolored, added, 0.0)

    def compute_output_shape(self, images_shape: Any, draws_shape: Any) -> Any:
        self._check(images_shape)
        return (images_shape[0], self.size, self.size, images_shape[-1])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "size": self.size, "value": self.value}

    def _check(self, shape: Any) -> None:
        if max(shape[1:3]) > self.size:
            raise errors.UsageError(
                f"Images of {shape[1]} x {shape[2]} pixels do not fit into a field of "
                f"{self.size} x {self.size} pixels. Set a larger size (data.field_size)."
            )

    def _distances(self, shift: Any, length: int) -> Any:
        """Returns the distances of the field's pixels from the image's middle."""
        pixels = keras.ops.floor(shift * (2 * _SHIFT + 1)) - _SHIFT
        middle = (self.size - length) // 2 + (length - 1) / 2
        return keras.ops.arange(self.size, dtype="float32") - middle - pixels[:, None]

    def _interpolate(self, images: Any, x: Any, y: Any) -> Any:
        """Returns interpolated colours at distances x, y from the image's middle."""
        height, width, channels = images.shape[1:]
        count = keras.ops.shape(images)[0]
        around = (0, 0), (1, 1), (1, 1), (0, 0)
        padded = keras.ops.pad(images, around, constant_values=self.value)
        padded = keras.ops.reshape(padded, (-1, channels))
        first = (height + 2) * (width + 2) * keras.ops.arange(count, dtype="int32")
        colors = 0.0
        for row, weight_y in _neighbours(y + (height - 1) / 2, height):
            for column, weight_x in _neighbours(x + (width - 1) / 2, width):
                index = first[:, None, None] + row * (width + 2) + column
                weight = (weight_x * weight_y)[..., None]
                colors += weight * keras.ops.take(padded, index, axis=0)
        return colors

    def _colors(self, draws: Any, channels: int) -> list[Any]:
        """Returns normal numbers `(batch, 1, 1, channels)` for each of `_COLORS`."""
        numbers = []
        for i, deviation in enumerate(_COLORS.values()):
            start = len(_AFFINE) + i * channels
            uniform = _uniform(draws[:, start : start + channels])
            scale = math.sqrt(2) * deviation
            numbers.append(scale * keras.ops.erfinv(2 * uniform - 1)[:, None, None])
        return numbers


def _uniform(draws: Any) -> Any:
    """Returns numbers in (0, 1), exactly 1/2 for `AffineRecolor.STILL`."""
    bits = 23  # float32 represents all integers of 24 bits
    draws = keras.ops.cast(draws, "int32") // 2 ** (_BITS - bits)
    return keras.ops.cast(keras.ops.maximum(draws, 1), "float32") / 2**bits


def _inverse_matrix(drawn: dict[str, Any]) -> list[list[Any]]:
    """Returns the matrix that maps positions in the result to the image."""

    def within(uniform: Any, bound: float) -> Any:
        return bound * (2 * uniform - 1)

    angle = within(drawn["angle"], _ANGLE)
    kind = keras.ops.floor(3 * drawn["kind"])
    rotated, zero = kind == 2, keras.ops.zeros_like(angle)
    sine = keras.ops.sin(angle)
    diagonal = keras.ops.where(rotated, keras.ops.cos(angle), 1.0)
    # With stretches s and matrix m: (diag(s) m)^-1 = m^-1 diag(1 / s).
    above = keras.ops.where(rotated, -sine, keras.ops.where(kind == 1, angle, zero))
    below = keras.ops.where(rotated, sine, keras.ops.where(kind == 0, angle, zero))
    stretch_x = 1 + within(drawn["stretch_x"], _STRETCH)
    stretch_y = 1 + within(drawn["stretch_y"], _STRETCH)
    stretch_x = keras.ops.where(drawn["mirror"] > 0.5, -stretch_x, stretch_x)
    # The determinant of m, a shear or a rotation, is 1.
    matrix = (
        (diagonal / stretch_x, -above / stretch_y),
        (-below / stretch_x, diagonal / stretch_y),
    )
    return [[entry[:, None, None] for entry in row] for row in matrix]


def _neighbours(positions: Any, length: int) -> list[tuple[Any, Any]]:
    """Returns the two cells around each position on a padded axis, with weights."""
    positions = keras.ops.clip(positions, -1.0, float(length))
    below = keras.ops.minimum(keras.ops.floor(positions), length - 1.0)
    weight, below = positions - below, keras.ops.cast(below, "int32") + 1
    return [(below, 1 - weight), (below + 1, weight)]
