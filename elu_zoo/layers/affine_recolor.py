"""Random affine maps and colours whose draws are given, not made."""

import math
from typing import Any

import keras

from elu_zoo import errors

_BITS = 31  # of a draw
_STRETCH = _ANGLE = 0.2
_SHIFT = 16  # pixels
_INTERESTING = 2.0  # levels from grey: nothing closer to it is recoloured
# Deviations, of 255 levels, of what is added to a channel, and added a pixel from left
# to right and from top to bottom. The archived original asks for 25.5, 2.4 and 2.4, and
# for .15 of the channel's contrast; its integer arguments leave these, and of it 0.
_COLORS = {"level": 25.0, "columns": 2.0, "rows": 2.0}
# One draw each, then one for each colour's kind and channel.
_AFFINE = "stretch_x", "stretch_y", "mirror", "kind", "angle", "shift_x", "shift_y"
STILL = 2 ** (_BITS - 1)  # the draw that changes nothing


@keras.saving.register_keras_serializable("elu_zoo")
class AffineRecolor(keras.layers.Layer):
    """Stretches, mirrors, shears or turns, moves and recolours images (Graham, 2014).

    The image's middle comes to lie in that of a field of `value`, up to 16 pixels off
    on either axis. Width and height are changed by up to 20 % each, half of the images
    are mirrored, and one of three is done by an amount of up to 0.2: a shear along x,
    one along y, a turn (in radians). Pixels between others are interpolated bilinearly.
    Then each channel gets a normal number of deviation 25 added, and slopes of
    deviation 2 a pixel from left to right and from top to bottom, where a pixel differs
    from `value` by more than 2 of 255 levels in any channel. Results are not clipped.

    What is drawn for an image is an input of the layer: runs to be compared see the
    same images, on any number of devices. All is about the image's middle; in the
    archived original half a pixel beside it.

    Args:
        size: height and width of the field, pixels.
        value: of the field, that becomes zero in the network.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Inputs: raw 0..255 images `(batch, height, width, channels)`, and for each of them
    integers `(batch, draws(channels))`, uniform in 0..2**31 - 1; `STILL` everywhere
    leaves the image as it is, in the middle, `(size - n) // 2` pixels from the start.

    Output shape: `(batch, size, size, channels)`, in float32.

    Raises:
        UsageError: a field that is smaller than the images.
    """

    def __init__(self, size: int, value: float = 128.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size = size
        self.value = value
        self.built = True

    @staticmethod
    def draws(channels: int) -> int:
        """Returns how many integers the layer takes for each image."""
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
        far = keras.ops.abs(moved - self.value) > _INTERESTING
        interesting = keras.ops.any(far, axis=-1, keepdims=True)
        colors = dict(zip(_COLORS, self._colors(draws, images.shape[-1]), strict=True))
        slopes = colors["columns"] * x[..., None] + colors["rows"] * y[..., None]
        added = colors["level"] + slopes
        return moved + keras.ops.where(interesting, added, 0.0)

    def compute_output_shape(self, images_shape: Any, draws_shape: Any) -> Any:
        self._check(images_shape)
        return (images_shape[0], self.size, self.size, images_shape[-1])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "size": self.size, "value": self.value}

    def _check(self, shape: Any) -> None:
        if max(shape[1:3]) > self.size:
            raise errors.UsageError(
                f"A field of {self.size} x {self.size} pixels does not hold images of "
                f"{shape[1]} x {shape[2]}."
            )

    def _places(self, shift: Any, length: int) -> Any:
        """Returns how far from an image's middle the field's pixels are."""
        pixels = keras.ops.floor(shift * (2 * _SHIFT + 1)) - _SHIFT
        middle = (self.size - length) // 2 + (length - 1) / 2
        return keras.ops.arange(self.size, dtype="float32") - middle - pixels[:, None]

    def _pixels(self, images: Any, x: Any, y: Any) -> Any:
        """Returns the image's colours at places from its middle, between its pixels."""
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
        """Returns of each kind the normal numbers, `(batch, 1, 1, channels)`."""
        found = []
        for i, deviation in enumerate(_COLORS.values()):
            start = len(_AFFINE) + i * channels
            uniform = _uniform(draws[:, start : start + channels])
            scale = math.sqrt(2) * deviation
            found.append(scale * keras.ops.erfinv(2 * uniform - 1)[:, None, None])
        return found


def _uniform(draws: Any) -> Any:
    """Returns numbers in (0, 1), exactly 1/2 for `STILL`; float32 has 24 bits."""
    bits = 23
    draws = keras.ops.cast(draws, "int32") // 2 ** (_BITS - bits)
    return keras.ops.cast(keras.ops.maximum(draws, 1), "float32") / 2**bits


def _inverse(drawn: dict[str, Any]) -> list[list[Any]]:
    """Returns the matrix that row vectors of the result are multiplied by."""

    def within(uniform: Any, bound: float) -> Any:
        return bound * (2 * uniform - 1)

    angle = within(drawn["angle"], _ANGLE)
    kind = keras.ops.floor(3 * drawn["kind"])
    turned, zero = kind == 2, keras.ops.zeros_like(angle)
    sine = keras.ops.sin(angle)
    diagonal = keras.ops.where(turned, keras.ops.cos(angle), 1.0)
    # The stretches s and the matrix m after them: (diag(s) m)^-1 = m^-1 diag(1 / s).
    above = keras.ops.where(turned, -sine, keras.ops.where(kind == 1, angle, zero))
    below = keras.ops.where(turned, sine, keras.ops.where(kind == 0, angle, zero))
    stretch_x = 1 + within(drawn["stretch_x"], _STRETCH)
    stretch_y = 1 + within(drawn["stretch_y"], _STRETCH)
    stretch_x = keras.ops.where(drawn["mirror"] > 0.5, -stretch_x, stretch_x)
    # The determinant of m is 1: a shear's, or a turn's.
    matrix = (
        (diagonal / stretch_x, -above / stretch_y),
        (-below / stretch_x, diagonal / stretch_y),
    )
    return [[entry[:, None, None] for entry in row] for row in matrix]


def _neighbours(places: Any, length: int) -> list[tuple[Any, Any]]:
    """Returns the two cells around each place on a padded axis, with their shares."""
    places = keras.ops.clip(places, -1.0, float(length))
    below = keras.ops.minimum(keras.ops.floor(places), length - 1.0)
    share, below = places - below, keras.ops.cast(below, "int32") + 1
    return [(below, 1 - share), (below + 1, share)]
