"""Affine maps and colours, against loops in float64."""

import math
from statistics import NormalDist

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.layers import AffineRecolor
from elu_zoo.layers.affine_recolor import STILL

RNG = np.random.default_rng(0)
MOST = 2**31 - 1
SHEAR_X, SHEAR_Y, TURN = 0, STILL, MOST  # the draws of each kind


def rounded(draws):
    """Returns the layer's numbers in (0, 1), of 23 bits."""
    return np.maximum(np.asarray(draws) >> 8, 1) / 2**23


def matrix(draws):
    """Returns the matrix that the original multiplies row vectors with."""
    u = rounded(draws)
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
    found = np.zeros(channels)
    for row in (math.floor(y), math.floor(y) + 1):
        for column in (math.floor(x), math.floor(x) + 1):
            within = 0 <= row < height and 0 <= column < width
            color = image[row, column] if within else np.full(channels, value)
            found += (1 - abs(y - row)) * (1 - abs(x - column)) * color
    return found


def reference(images, draws, size, value=128.0):
    """Returns the fields, and the contrast of each pixel before recolouring."""
    result = np.full((len(images), size, size, images.shape[-1]), value)
    height, width, channels = images.shape[1:]
    left, top = (size - width) // 2, (size - height) // 2
    contrasts = []
    for image, drawn, field in zip(images.astype(float), draws, result, strict=True):
        back = np.linalg.inv(matrix(drawn))
        shift = np.floor(33 * rounded(drawn[5:7])) - 16
        normal = [NormalDist().inv_cdf(u) for u in rounded(drawn[7:])]
        level, across, down = np.reshape(normal, (3, channels))
        for i in range(size):
            for j in range(size):
                middle = np.array([width - 1, height - 1]) / 2
                x, y = [j - left, i - top] - middle - shift
                color = pixel(image, *([x, y] @ back + middle), value)
                contrasts.append(np.abs(color - value).max())
                if contrasts[-1] > 2:
                    color += 25 * level + 2 * across * x + 2 * down * y
                field[i, j] = color
    return result, np.reshape(contrasts, result.shape[:3])


def drawn(count, channels, **columns):
    """Returns random draws, with given values in the columns of a name."""
    found = RNG.integers(0, 2**31, (count, AffineRecolor.draws(channels)))
    names = "stretch_x stretch_y mirror kind angle shift_x shift_y".split()
    for name, values in columns.items():
        found[:, names.index(name) if name in names else slice(7, None)] = values
    return found.astype("int32")


def levels(count, *shape):
    """Returns images without pixels near grey, where rounding would decide."""
    return RNG.choice([*range(0, 100), *range(160, 256)], (count, *shape))


def still(count, channels):
    return np.full((count, AffineRecolor.draws(channels)), STILL, "int32")


CASES = {
    "anything": {},
    "shears along x": {"kind": SHEAR_X},
    "shears along y": {"kind": SHEAR_Y},
    "turns": {"kind": TURN},
    "mirror images": {"mirror": MOST, "colors": STILL},
    "none of them": {"mirror": STILL, "colors": STILL},
    "most": {"stretch_x": MOST, "stretch_y": MOST, "angle": MOST, "kind": TURN},
    "least": {"stretch_x": 0, "stretch_y": 0, "angle": 0, "kind": TURN},
    "the field's end": {"shift_x": MOST, "shift_y": 0, "colors": STILL},
    "colours": {"stretch_x": STILL, "stretch_y": STILL, "angle": STILL},
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape", [(6, 6, 3), (5, 8, 1)])
def test_values(name, shape):
    draws = drawn(3, shape[-1], **CASES[name])
    images = levels(3, *shape)
    found = np.asarray(AffineRecolor(20)(images.astype("float32"), draws))
    expected, contrast = reference(images, draws, 20)
    # At the edge of the image, where the contrast is near 2, rounding decides.
    far = np.abs(contrast - 2) > 1e-2
    agrees = np.abs(found - expected).max(-1) < 2e-2
    assert agrees[far].all() and agrees.mean() > 0.999


def test_the_middle_draw_leaves_images_in_the_middle():
    images = RNG.integers(0, 256, (4, 32, 32, 3)).astype("float32")
    found = AffineRecolor(94)(images, still(4, 3))
    around = np.pad(images, ((0, 0), (31, 31), (31, 31), (0, 0)), constant_values=128)
    np.testing.assert_array_equal(found, around)
    again = AffineRecolor(32, value=5.0)(images.astype("uint8"), still(4, 3))
    np.testing.assert_array_equal(again, images)


@pytest.mark.parametrize("shape", [(7, 8), (12, 11)])
@pytest.mark.parametrize("size", [12, 13])
def test_images_of_odd_sides_lie_on_whole_pixels(shape, size):
    images = RNG.integers(0, 256, (4, *shape, 3)).astype("float32")
    around = [((size - n) // 2, size - n - (size - n) // 2) for n in shape]
    expected = np.pad(images, ((0, 0), *around, (0, 0)), constant_values=128)
    for dtype in ("float32", "mixed_bfloat16", "float64"):
        found = AffineRecolor(size, dtype=dtype)(images, still(4, 3))
        assert found.dtype == "float32"
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("value", [128.0, 0.0])
def test_grey_stays_grey(value):
    """Pixels within 2 levels of the field's value are not recoloured."""
    images = np.full((20, 8, 8, 3), value, "float32")
    images += RNG.uniform(-1.9, 1.9, images.shape).astype("float32")
    found = AffineRecolor(40, value=value)(images, drawn(20, 3))
    assert np.abs(found - value).max() <= 2
    found = AffineRecolor(40, value=value)(images + 3, drawn(20, 3))
    assert np.abs(found - value).max() > 20


def test_the_extremes_of_draws_are_finite():
    images = levels(2, 5, 5, 3).astype("float32")
    for draw in (0, 1, 255, 256, MOST):
        draws = np.full((2, AffineRecolor.draws(3)), draw, "int32")
        assert np.isfinite(AffineRecolor(12)(images, draws)).all()


def test_images_of_32_stay_within_a_field_of_94():
    images = np.full((100, 32, 32, 1), 255.0, "float32")
    draws = drawn(100, 1, colors=STILL)
    ends = np.array([0, STILL, MOST])
    draws[:, :7] = RNG.choice(ends, (100, 7))
    found = np.asarray(AffineRecolor(94)(images, draws))[..., 0]
    edges = found[:, [0, -1]], found[:, :, [0, -1]]
    assert all((edge == 128).all() for edge in edges)
    assert (found[:, :, [9, -10]] != 128).any()


@pytest.mark.parametrize("jit_compile", [False, True])
def test_traced_with_unknown_batch(jit_compile):
    layer = AffineRecolor(12)
    signature = tf.TensorSpec([None, 6, 5, 2]), tf.TensorSpec([None, None], tf.int32)
    program = tf.function(
        lambda x, d: layer(x, d), input_signature=signature, jit_compile=jit_compile
    )
    images, draws = levels(7, 6, 5, 2).astype("float32"), drawn(7, 2)
    for count in (7, 1):
        found = program(images[:count], draws[:count])
        expected = layer(images[:count], draws[:count])
        np.testing.assert_allclose(found, expected, 0, 1e-2)


def test_config_and_file(tmp_path):
    layer = AffineRecolor(10, 7.0, name="field")
    again = AffineRecolor.from_config(layer.get_config())
    assert (again.name, again.size, again.value) == ("field", 10, 7.0)
    assert AffineRecolor(10).value == 128
    inputs = keras.Input([6, 5, 3]), keras.Input([16], dtype="int32")
    outputs = layer(*inputs)
    assert outputs.shape == (None, 10, 10, 3)
    keras.Model(inputs, outputs).save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert not loaded.weights
    images, draws = levels(4, 6, 5, 3).astype("float32"), drawn(4, 3)
    expected = layer(images, draws)
    np.testing.assert_array_equal(loaded([images, draws]), expected)


def test_a_field_that_is_too_small():
    images = np.zeros((1, 5, 9, 3), "float32")
    words = "field of 8 x 8 pixels does not hold images of 5 x 9"
    with pytest.raises(errors.UsageError, match=words):
        AffineRecolor(8)(images, still(1, 3))
    with pytest.raises(errors.UsageError, match=words):
        AffineRecolor(8).compute_output_shape((None, 5, 9, 3), (None, 16))
