"""Random affine maps and colours; the random draws are an input."""

import math
from typing import Any

import keras

from elu_zoo import errors

_BITS = 31  # of a draw
_STRETCH = _ANGLE = 0.2
_SHIFT = 16  # pixels
_CONTRAST = 2.0  # levels: pixels that differ less from the background keep their colour
# Standard deviations, in 255 levels, of what is added to a channel: to all pixels, per
# pixel from left to right, per pixel from top to bottom. The archived original has
# 25.5, 2.4 and 2.4, and 0.15 of the channel's contrast, but passes them as integers,
# which truncates them to these values, and the last one to 0.
_COLORS = {"level": 25.0, "columns": 2.0, "rows": 2.0}
# One draw each, followed by one for each entry of _COLORS and each channel.
_AFFINE = "stretch_x", "stretch_y", "mirror", "kind", "angle", "shift_x", "shift_y"
STILL = 2 ** (_BITS - 1)  # the draw that changes nothing


@keras.saving.register_keras_serializable("elu_zoo")
class AffineRecolor(keras.layers.Layer):
    """Random affine maps and recolouring of images (Graham, 2014).

    The image is placed in the middle of a field of `value` and shifted by up to 16
    pixels on either axis. Width and height change by up to 20 % each, half of the
    images are mirrored, and each image has one of three transformations by up to 0.2:
    a shear along x, a shear along y, or a rotation (in radians). Interpolation is
    bilinear. Each channel then gets a normal number of deviation 25, and slopes of
    deviation 2 a pixel from left to right and from top to bottom, where any channel
    of the pixel differs from `value` by more than 2 of 255 levels. Results are not
    clipped. Transformations are about the image's middle; in the archived original
    about a point half a pixel away.

    The random draws are an input, so that compared runs see the same images on any
    number of devices.

    Args:
        size: height and width of the field, in pixels.
        value: the background, which becomes zero in the network.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Inputs: raw 0..255 images `(batch, height, width, channels)`, and integers
    `(batch, draws(channels))`, uniform in 0..2**31 - 1. With `STILL` everywhere the
    image is unchanged and starts `(size - n) // 2` pixels from the field's start.

    Output shape: `(batch, size, size, channels)`, in float32.

    Raises:
        UsageError: the field is smaller than the images.
    """

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
        x = self._places(drawn["shift_x"], width)[:, None, :]
        y = self._places(drawn["shift_y"], height)[:, :, None]
        (a, b), (c, d) = _inverse(drawn)
        moved = self._pixels(images, a * x + c * y, b * x + d * y)
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
                f"A field of {self.size} x {self.size} pixels does not hold images of "
                f"{shape[1]} x {shape[2]}. Use a larger size."
            )

    def _places(self, shift: Any, length: int) -> Any:
        """Returns the distance of the field's pixels from the image's middle."""
        pixels = keras.ops.floor(shift * (2 * _SHIFT + 1)) - _SHIFT
        middle = (self.size - length) // 2 + (length - 1) / 2
        return keras.ops.arange(self.size, dtype="float32") - middle - pixels[:, None]

    def _pixels(self, images: Any, x: Any, y: Any) -> Any:
        """Returns interpolated colours at these distances from the image's middle."""
        height, width, channels = images.shape[1:]
        count = keras.ops.shape(images)[0]
        around = (0, 0), (1, 1), (1, 1), (0, 0)
        padded = keras.ops.pad(images, around, constant_values=self.value)
        padded = keras.ops.reshape(padded, (-1, channels))
        first = (height + 2) * (width + 2) * keras.ops.arange(count, dtype="int32")
        found = 0.0
        for row, share_y in _neighbours(y + (height - 1) / 2, height):
            for column, share_x in _neighbours(x + (width - 1) / 2, width):
                index = first[:, None, None] + row * (width + 2) + column
                share = (share_x * share_y)[..., None]
                found += share * keras.ops.take(padded, index, axis=0)
        return found

    def _colors(self, draws: Any, channels: int) -> list[Any]:
        """Returns the normal numbers of each colour, `(batch, 1, 1, channels)`."""
        found = []
        for i, deviation in enumerate(_COLORS.values()):
            start = len(_AFFINE) + i * channels
            uniform = _uniform(draws[:, start : start + channels])
            scale = math.sqrt(2) * deviation
            found.append(scale * keras.ops.erfinv(2 * uniform - 1)[:, None, None])
        return found


def _uniform(draws: Any) -> Any:
    """Returns numbers in (0, 1), exactly 1/2 for `STILL`."""
    bits = 23  # fewer than the 24 of float32
    draws = keras.ops.cast(draws, "int32") // 2 ** (_BITS - bits)
    return keras.ops.cast(keras.ops.maximum(draws, 1), "float32") / 2**bits


def _inverse(drawn: dict[str, Any]) -> list[list[Any]]:
    """Returns the matrix that maps places of the result to places of the image."""

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


def _neighbours(places: Any, length: int) -> list[tuple[Any, Any]]:
    """Returns the two cells around each place of a padded axis, and their weights."""
    places = keras.ops.clip(places, -1.0, float(length))
    below = keras.ops.minimum(keras.ops.floor(places), length - 1.0)
    share, below = places - below, keras.ops.cast(below, "int32") + 1
    return [(below, 1 - share), (below + 1, share)]
