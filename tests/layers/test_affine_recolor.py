"""AffineRecolor returns what loops over pixels compute in float64."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from elu_zoo.layers import AffineRecolor

RNG = np.random.default_rng(0)
MAX_DRAW = 2**31 - 1
STILL = AffineRecolor.STILL
# The value of the draw "kind" that selects each transformation.
SHEAR_X, SHEAR_Y, ROTATION = 0, STILL, MAX_DRAW


def uniform(draws):
    """Returns the numbers in (0, 1) that the layer computes from draws."""
    return np.maximum(np.asarray(draws) >> 8, 1) / 2**23


def matrix(draws):
    """Returns the matrix by which Graham's code multiplies row vectors."""
    u = uniform(draws)
    c = np.diag([1 + 0.4 * (u[0] - 0.5), 1 + 0.4 * (u[1] - 0.5)])
    if u[2] > 0.5:
        c[0, 0] *= -1
    a = 0.4 * (u[4] - 0.5)
    return (
        c
        @ [
            [[1, 0], [a, 1]],
            [[1, a], [0, 1]],
            [[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]],
        ][int(3 * u[3])]
    )


def pixel(image, x, y, value):
    """Returns an interpolated pixel; pixels outside of the image have `value`."""
    height, width, channels = image.shape
    result = np.zeros(channels)
    for row in (math.floor(y), math.floor(y) + 1):
        for column in (math.floor(x), math.floor(x) + 1):
            inside = 0 <= row < height and 0 <= column < width
            color = image[row, column] if inside else np.full(channels, value)
            result += (1 - abs(y - row)) * (1 - abs(x - column)) * color
    return result


def reference(images, draws, size, value=128.0):
    """Returns the outputs, and the contrast of each output pixel before recolouring."""
    result = np.full((len(images), size, size, images.shape[-1]), value)
    height, width, channels = images.shape[1:]
    left, top = (size - width) // 2, (size - height) // 2
    contrasts = []
    for image, row, field in zip(images.astype(float), draws, result, strict=True):
        inverse = np.linalg.inv(matrix(row))
        shift = np.floor(33 * uniform(row[5:7])) - 16
        normal = [NormalDist().inv_cdf(u) for u in uniform(row[7:])]
        level, across, down = np.reshape(normal, (3, channels))
        for i in range(size):
            for j in range(size):
                middle = np.array([width - 1, height - 1]) / 2
                x, y = [j - left, i - top] - middle - shift
                color = pixel(image, *([x, y] @ inverse + middle), value)
                contrasts.append(np.abs(color - value).max())
                if contrasts[-1] > 2:
                    color += 25 * level + 2 * across * x + 2 * down * y
                field[i, j] = color
    return result, np.reshape(contrasts, result.shape[:3])


def random_draws(count, channels, **columns):
    """Returns draws, random except for `columns`; "colors" are columns 7 and later."""
    draws = RNG.integers(0, 2**31, (count, AffineRecolor.draws(channels)))
    names = "stretch_x stretch_y mirror kind angle shift_x shift_y".split()
    for name, values in columns.items():
        draws[:, names.index(name) if name in names else slice(7, None)] = values
    return draws.astype("int32")


def random_images(count, *shape):
    """Returns images without pixels near the background.

    If a pixel had a contrast near 2, rounding would decide whether it is recoloured.
    """
    return RNG.choice([*range(0, 100), *range(160, 256)], (count, *shape))


def still_draws(count, channels):
    """Returns draws that move and recolour no pixel."""
    return np.full((count, AffineRecolor.draws(channels)), STILL, "int32")


# For each case: the argument `columns` of `random_draws`.
CASES = {
    "random": {},
    "shears along x": {"kind": SHEAR_X},
    "shears along y": {"kind": SHEAR_Y},
    "rotations": {"kind": ROTATION},
    "mirrored": {"mirror": MAX_DRAW, "colors": STILL},
    "not mirrored": {"mirror": STILL, "colors": STILL},
    "largest": {
        "stretch_x": MAX_DRAW,
        "stretch_y": MAX_DRAW,
        "angle": MAX_DRAW,
        "kind": ROTATION,
    },
    "smallest": {"stretch_x": 0, "stretch_y": 0, "angle": 0, "kind": ROTATION, "colors": 0},
    "largest shifts": {"shift_x": MAX_DRAW, "shift_y": 0, "colors": STILL},
    "colours": {"stretch_x": STILL, "stretch_y": STILL, "angle": STILL},
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape", [(6, 6, 3), (5, 8, 1)])
def test_outputs_equal_the_reference(name, shape):
    draws = random_draws(3, shape[-1], **CASES[name])
    images = random_images(3, *shape)
    outputs = np.asarray(AffineRecolor(20)(images.astype("float32"), draws))
    expected, contrast = reference(images, draws, 20)
    # Interpolated pixels at the edge of an image may still have a contrast near 2.
    is_far = np.abs(contrast - 2) > 1e-2
    is_close = np.abs(outputs - expected).max(-1) < 2e-2
    assert is_close[is_far].all() and is_close.mean() > 0.999


@pytest.mark.parametrize(("shape", "size"), [((7, 8), 12), ((12, 11), 13), ((32, 32), 94)])
def test_still_draws_centre_the_image(shape, size):
    images = RNG.integers(0, 256, (4, *shape, 3)).astype("float32")
    padding = [((size - n) // 2, size - n - (size - n) // 2) for n in shape]
    expected = np.pad(images, ((0, 0), *padding, (0, 0)), constant_values=128)
    for dtype in ("float32", "mixed_bfloat16", "float64"):
        outputs = AffineRecolor(size, dtype=dtype)(images, still_draws(4, 3))
        assert outputs.dtype == "float32"
        np.testing.assert_array_equal(outputs, expected)


@pytest.mark.parametrize("value", [128.0, 0.0])
def test_pixels_within_2_levels_of_the_background_keep_their_colour(value):
    images = np.full((20, 8, 8, 3), value, "float32")
    images += RNG.uniform(-1.9, 1.9, images.shape).astype("float32")
    outputs = AffineRecolor(40, value=value)(images, random_draws(20, 3))
    assert np.abs(outputs - value).max() <= 2
    outputs = AffineRecolor(40, value=value)(images + 3, random_draws(20, 3))
    assert np.abs(outputs - value).max() > 20
