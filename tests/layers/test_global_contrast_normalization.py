"""GlobalContrastNormalization returns what NumPy computes in float64."""

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.layers import GlobalContrastNormalization

RNG = np.random.default_rng(0)


def reference(images, norm=55.0):
    x = images.astype(np.float64).reshape(len(images), -1)
    x = x - x.mean(1, keepdims=True)
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return (x * norm / np.where(length == 0, 1, length)).reshape(images.shape)


def pixels(*shape):
    return RNG.integers(0, 256, shape).astype("float32")


@pytest.mark.parametrize("shape", [(4, 32, 32, 3), (2, 5, 7, 1), (1, 1, 2, 1)])
@pytest.mark.parametrize("norm", [55.0, 1.0])
@pytest.mark.parametrize(
    ("dtype", "error"),
    [("float32", 3e-6), ("float16", 1e-3), ("bfloat16", 8e-3), ("float64", 1e-14)],
)
def test_outputs_equal_numpy(shape, norm, dtype, error):
    images = pixels(*shape)
    images[0, 0, 0, 0], images[0, -1, -1, -1] = 0, 255  # not all equal
    y = GlobalContrastNormalization(norm, dtype=dtype)(images)
    assert y.dtype == dtype
    y = np.asarray(tf.cast(y, "float64"))
    np.testing.assert_allclose(y, reference(images, norm), atol=error * norm)
    np.testing.assert_allclose(np.linalg.norm(y[0]), norm, rtol=4 * error)


@pytest.mark.parametrize("jit_compile", [None, False, True])
def test_an_image_of_equal_values_becomes_zeros(jit_compile):
    """The batch has an image of each grey level and two images of random pixels."""
    images = np.broadcast_to(np.arange(256.0)[:, None, None, None], (256, 32, 32, 3))
    images = np.concatenate([images.astype("float32"), pixels(2, 32, 32, 3)])
    layer = GlobalContrastNormalization()
    function = layer
    if jit_compile is not None:
        function = tf.function(lambda x: layer(x), jit_compile=jit_compile)
    y = np.asarray(function(images))
    assert not y[:256].any()
    np.testing.assert_allclose(y[256:], reference(images[256:]), atol=1e-4)


@pytest.mark.parametrize("norm", [0, -1.0, float("nan"), float("inf"), "55", None])
def test_a_norm_that_is_not_positive_and_finite_is_refused(norm):
    with pytest.raises(errors.UsageError, match="norm must be finite and > 0"):
        GlobalContrastNormalization(norm)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float64"])
def test_outputs_are_float32_for_images_of_any_dtype(dtype):
    images = pixels(3, 6, 5, 3)
    y = GlobalContrastNormalization()(images.astype(dtype))
    assert y.dtype == "float32"
    np.testing.assert_array_equal(y, GlobalContrastNormalization()(images))


def test_config_keeps_the_norm():
    layer = GlobalContrastNormalization(7.0, name="gcn")
    restored = GlobalContrastNormalization.from_config(layer.get_config())
    assert (restored.name, restored.norm) == ("gcn", 7.0)
    assert layer.compute_output_shape((None, 6, 5, 3)) == (None, 6, 5, 3)
