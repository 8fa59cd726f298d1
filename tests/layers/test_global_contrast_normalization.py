"""GlobalContrastNormalization returns what NumPy computes in float64."""

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo.layers import GlobalContrastNormalization

RNG = np.random.default_rng(0)


def reference(images):
    x = images.astype(np.float64).reshape(len(images), -1)
    x = x - x.mean(1, keepdims=True)
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return (x * 55 / np.where(length == 0, 1, length)).reshape(images.shape)


def pixels(*shape):
    return RNG.integers(0, 256, shape).astype("float32")


@pytest.mark.parametrize("shape", [(4, 32, 32, 3), (2, 5, 7, 1), (1, 1, 2, 1)])
@pytest.mark.parametrize(
    ("dtype", "error"),
    [("float32", 3e-6), ("float16", 1e-3), ("bfloat16", 8e-3), ("float64", 1e-14)],
)
def test_outputs_equal_numpy(shape, dtype, error):
    images = pixels(*shape)
    images[0, 0, 0, 0], images[0, -1, -1, -1] = 0, 255  # not all equal
    y = GlobalContrastNormalization(dtype=dtype)(images)
    assert y.dtype == dtype
    y = np.asarray(tf.cast(y, "float64"))
    np.testing.assert_allclose(y, reference(images), atol=error * 55)
    np.testing.assert_allclose(np.linalg.norm(y[0]), 55, rtol=4 * error)


@pytest.mark.parametrize("jit_compile", [None, False, True])
def test_an_image_of_equal_values_becomes_zeros(jit_compile):
    """The batch has an image of each grey level and two images of random pixels."""
    images = np.broadcast_to(np.arange(256.0)[:, None, None, None], (256, 32, 32, 3))
    images = np.concatenate([images.astype("float32"), pixels(2, 32, 32, 3)])
    layer, ramp = GlobalContrastNormalization(), np.arange(3, dtype="float32")

    def function(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x)
            loss = tf.reduce_sum(y * ramp)
        return y, tape.gradient(loss, x)

    if jit_compile is not None:
        function = tf.function(function, jit_compile=jit_compile)
    y, gradient = map(np.asarray, function(tf.constant(images)))
    assert not y[:256].any()
    np.testing.assert_allclose(gradient[:256], np.broadcast_to(ramp - 1, y[:256].shape), atol=1e-5)
    np.testing.assert_allclose(y[256:], reference(images[256:]), atol=1e-4)
