"""Dropout has hashed masks within the `keyed` context and Keras' masks outside."""

import threading

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.layers import Dropout, FeatureMapDropout, keyed
from elu_zoo.layers.dropout import batch_draws, kept_values

ONES = np.ones((6, 50), "float32")


def mix(x):
    x = (x ^ x >> 16) * 0x7FEB352D & 0xFFFFFFFF
    x = (x ^ x >> 15) * 0x846CA68B & 0xFFFFFFFF
    return x ^ x >> 16


def reference(seed, iteration, examples, shape, rate):
    """Returns the result of `kept_values`, computed in 64-bit integers."""
    step = mix(mix(np.uint64(seed)) ^ np.uint64(iteration))
    example = mix(mix(step) ^ np.asarray(examples, "uint64"))
    unit = mix((np.arange(np.prod(shape), dtype="uint64") + 0x9E3779B9) & 0xFFFFFFFF)
    bits = (example[:, None] ^ unit) * 0x7FEB352D & 0xFFFFFFFF
    bits = (bits ^ bits >> 15) * 0x846CA68B & 0xFFFFFFFF
    return (bits >= round(rate * 2**32)).reshape(-1, *shape)


def mask_of(*arguments):
    return np.asarray(kept_values(*arguments))


def test_half_precision_is_scaled_in_float32():
    inputs = np.linspace(0.5, 2, 4096, dtype="float32").reshape(1, -1)
    half = keras.ops.cast(inputs, "bfloat16")
    layer = Dropout(0.1, seed=3, dtype="mixed_bfloat16")
    outputs = np.asarray(keras.ops.cast(drop(layer, half), "float32"))
    kept = mask_of(3, 0, [0], (4096,), 0.1)
    expected = np.asarray(keras.ops.cast(half, "float32")) * kept / np.float32(0.9)
    np.testing.assert_allclose(outputs, expected, rtol=2.0**-8)  # one rounding
    assert abs(outputs.sum() / expected.sum() - 1) < 1e-4  # no bias


def drop(layer, inputs, iteration=0, examples=None):
    """Returns the output of a layer in training, within `keyed`."""
    with keyed(iteration, np.arange(len(inputs)) if examples is None else examples):
        return np.asarray(layer(inputs, training=True))


@pytest.mark.parametrize(
    "arguments",
    [
        (0, 0, [0], (1,), 0.5),
        (1, 0, [0, 1, 2], (7,), 0.5),
        (2**31 - 1, 165_000, [49_999, 0, 49_999], (3, 5, 2), 0.1),
        (12345, 2**31 - 1, np.arange(64), (8, 8, 3), 0.75),
        (7, 3, np.arange(10, dtype="int64"), (100,), 0.0),
        (7, 3, np.arange(10, dtype="uint32"), (100,), 1 - 2**-20),
    ],
)
def test_masks_equal_numpy(arguments):
    mask = mask_of(*arguments)
    assert mask.dtype == bool
    np.testing.assert_array_equal(mask, reference(*arguments))


def test_a_mask_equals_a_stored_mask():
    """If masks changed, finished runs could not be repeated."""
    mask = mask_of(20160222, 7, [3, 1, 4], (4, 2, 2), 0.5)
    assert np.packbits(mask).tobytes().hex() == "bffdba01e4e1"


def test_the_output_is_the_input_times_the_scaled_mask():
    x = np.random.default_rng(0).normal(size=(5, 4, 3, 2)).astype("float32")
    examples = [8, 8, 1, 0, 3]
    for rate in (0.1, 0.5, 0.75):
        y = drop(Dropout(rate, seed=11), x, iteration=5, examples=examples)
        mask = reference(11, 5, examples, (4, 3, 2), rate)
        np.testing.assert_allclose(y, x * mask / (1 - rate), rtol=1e-6)


def test_a_layer_without_seed_is_refused_within_keyed():
    for own in (Dropout(0.5), FeatureMapDropout(0.5)):
        with pytest.raises(errors.UsageError, match="layer_seed"):
            drop(own, ONES)


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.75])
def test_the_fraction_of_dropped_values_is_the_rate(rate):
    masks = [mask_of(3, step, np.arange(100), (500,), rate) for step in range(4)]
    masks = np.stack(masks)
    for axes in ((), (1,), (2,)):  # mean of all values, of each unit, of each example
        count = masks.size if axes == () else masks.shape[axes[0]]
        fractions = 1 - masks.mean(axis=axes or None)
        assert np.abs(fractions - rate).max() < 6 * np.sqrt(rate * (1 - rate) / count)


def test_masks_are_uncorrelated():
    rate = 0.5
    steps = [mask_of(3, step, np.arange(64), (32, 32), rate) for step in range(3)]
    other_layer = mask_of(4, 0, np.arange(64), (32, 32), rate)
    x = np.stack([*steps, other_layer]) * 1.0 - (1 - rate)

    def z_score(a, b):
        return np.mean(a * b) / (rate * (1 - rate)) * np.sqrt(a.size)

    assert abs(z_score(x[:, :, :, 1:], x[:, :, :, :-1])) < 5
    assert abs(z_score(x[:, :, 1:], x[:, :, :-1])) < 5
    for distance in (1, 2, 16, 32):
        assert abs(z_score(x[:, distance:], x[:, :-distance])) < 5
    for a, b in ((0, 1), (0, 2), (1, 2), (0, 3)):
        assert abs(z_score(x[a], x[b])) < 5
    examples = x.reshape(4 * 64, -1)
    pairs = np.corrcoef(examples)[np.triu_indices(4 * 64, 1)] * 32
    assert abs(pairs.std() - 1) < 0.05 and np.abs(pairs).max() < 6


def test_inference_returns_the_inputs():
    layer = Dropout(0.9, seed=1)
    with keyed(0, np.arange(6)):
        np.testing.assert_array_equal(layer(ONES), ONES)
    np.testing.assert_array_equal(layer(ONES), ONES)
    np.testing.assert_array_equal(Dropout(0)(ONES, training=True), ONES)
    np.testing.assert_array_equal(drop(Dropout(0), ONES), ONES)


def test_outputs_without_keyed_equal_the_dropout_of_keras():
    ours, theirs = Dropout(0.8, seed=5), keras.layers.Dropout(0.8, seed=5)
    for _ in range(2):
        np.testing.assert_array_equal(ours(ONES, training=True), theirs(ONES, training=True))


def test_kept_values_can_be_left_unscaled():
    x = np.full((40, 50), 3, "float32")
    layers = [Dropout(0.5, seed=5, scaled=scaled) for scaled in (True, False)]
    for scaled, unscaled in (
        [drop(layer, x) for layer in layers],
        [np.asarray(layer(x, training=True)) for layer in layers],
    ):
        np.testing.assert_array_equal(unscaled == 0, scaled == 0)
        np.testing.assert_allclose(unscaled[unscaled != 0], 3, rtol=1e-6)
        assert 0 < np.mean(unscaled == 0) < 1
    np.testing.assert_array_equal(layers[1](x), x)


def test_the_innermost_context_is_used_until_it_ends():
    layer = Dropout(0.5, seed=1)
    outer, inner = drop(layer, ONES, 1), drop(layer, ONES, 2)
    with keyed(1, np.arange(6)):
        np.testing.assert_array_equal(drop(layer, ONES, 2), inner)
        np.testing.assert_array_equal(layer(ONES, training=True), outer)
    assert np.any(layer(ONES, training=True) != layer(ONES, training=True))


def test_threads_do_not_inherit_the_context():
    layer, outputs = Dropout(0.5, seed=1), []
    expected = keras.layers.Dropout(0.5, seed=1)(ONES, training=True)
    with keyed(0, np.arange(6)):
        thread = threading.Thread(target=lambda: outputs.append(layer(ONES, training=True)))
        thread.start()
        thread.join()
        hashed = np.asarray(layer(ONES, training=True))
    np.testing.assert_array_equal(outputs[0], expected)
    assert np.any(outputs[0] != hashed)


def test_functions_traced_after_a_change_of_the_rate_use_the_new_rate():
    layer = Dropout(0.0, seed=2)

    def traced():
        return tf.function(lambda x: layer(x, training=True))

    before = traced()
    with keyed(0, np.arange(6)):
        np.testing.assert_array_equal(before(ONES), ONES)
        layer.rate = 0.5
        mask = reference(2, 0, range(6), (50,), 0.5)
        np.testing.assert_array_equal(traced()(ONES), mask * 2.0)
        np.testing.assert_array_equal(before(ONES), ONES)
    assert np.any(traced()(ONES) == 0)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_traced_outputs_equal_eager_outputs(jit_compile):
    layer = Dropout(0.3, seed=9)

    @tf.function(jit_compile=jit_compile)
    def traced(x, iteration, examples):
        with keyed(iteration, examples):
            return layer(x, training=True)

    x = np.random.default_rng(0).normal(size=(6, 5, 4)).astype("float32")
    for iteration in (0, 1, 1_000_000):
        examples = tf.constant([5, 4, 3, 2, 1, iteration])
        y = traced(x, tf.constant(iteration), examples)
        eager = drop(layer, x, iteration, examples)
        np.testing.assert_array_equal(y != 0, eager != 0)
        np.testing.assert_allclose(y, eager, rtol=1e-6)
    assert traced.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("seed, iteration", [(0, 0), (7, 3), (2**31 - 1, 165_000)])
def test_batch_draws_equal_numpy(seed, iteration):
    with keyed(iteration, [3, 1]):
        draws = np.asarray(batch_draws(Dropout(0.5, seed=seed), 1000))
    step = mix(mix(np.uint64(seed)) ^ np.uint64(iteration))
    unit = mix((np.arange(1000, dtype="uint64") + 0x9E3779B9) & 0xFFFFFFFF)
    expected = (mix(mix(step) ^ unit) >> 8) / 2**24
    assert draws.dtype == np.float32
    np.testing.assert_array_equal(draws, expected)


def test_batch_draws_without_keyed_come_from_the_seed_generator():
    generator, layer = keras.random.SeedGenerator(5), Dropout(0.5, seed=5)
    for _ in range(2):
        expected = keras.random.uniform((9,), seed=generator)
        np.testing.assert_array_equal(batch_draws(layer, 9), expected)
