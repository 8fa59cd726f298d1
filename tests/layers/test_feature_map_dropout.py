"""FeatureMapDropout keeps a fixed number of maps, with and without `keyed`."""

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo.layers import FeatureMapDropout, keyed

SHAPES = [(4, 10), (4, 3, 5, 10)]


def ones(*shape):
    return np.ones(shape, np.float32)


def kept_channels(layer, iteration=None, channels=40, count=2):
    """Returns which channels a layer keeps; iteration None means without `keyed`."""
    x = ones(count, 3, channels)
    if iteration is None:
        y = np.asarray(layer(x, training=True))
    else:
        with keyed(iteration, range(count)):
            y = np.asarray(layer(x, training=True))
    np.testing.assert_array_equal(y, np.broadcast_to(y[0, 0], y.shape))
    assert set(np.unique(y)) <= {0, 1}
    return y[0, 0].astype(bool).tolist()


@pytest.mark.parametrize("rate", [0.25, 0.96])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("is_keyed", [False, True])
def test_training_drops_the_same_maps_of_all_examples(rate, shape, is_keyed):
    x = np.random.default_rng(0).normal(1, 5, shape).astype(np.float32)
    layer = FeatureMapDropout(rate, seed=3)
    for iteration in range(5):
        if is_keyed:
            with keyed(iteration, range(shape[0])):
                y = np.asarray(layer(x, training=True))
        else:
            y = np.asarray(layer(x, training=True))
        mask = np.any(y != 0, axis=tuple(range(len(shape) - 1)))
        assert mask.sum() == max(round(shape[-1] * (1 - rate)), 1)
        np.testing.assert_array_equal(y, x * mask)


@pytest.mark.parametrize("shape", SHAPES)
def test_inference_scales_all_maps(shape):
    x = np.random.default_rng(0).normal(1, 5, shape).astype(np.float32)
    layer = FeatureMapDropout(0.3, seed=3)
    for arguments in ({}, {"training": False}):
        np.testing.assert_allclose(layer(x, **arguments), 0.7 * x, rtol=1e-6)
        with keyed(0, range(shape[0])):
            np.testing.assert_allclose(layer(x, **arguments), 0.7 * x, rtol=1e-6)


def test_a_rate_of_0_changes_nothing():
    x = np.random.default_rng(0).normal(1, 5, (4, 10)).astype(np.float32)
    layer = FeatureMapDropout(0, seed=1)
    before = np.array(layer.seed_generator.state)
    for training in (False, True):
        np.testing.assert_array_equal(layer(x, training=training), x)
    np.testing.assert_array_equal(layer.seed_generator.state, before)


@pytest.mark.slow
@pytest.mark.parametrize("is_keyed", [False, True])
def test_channels_are_dropped_equally_often(is_keyed):
    layer = FeatureMapDropout(0.25, seed=1)
    calls = 200
    masks = [kept_channels(layer, i if is_keyed else None, 12) for i in range(calls)]
    fractions = np.mean(masks, axis=0)
    assert np.abs(fractions - 0.75).max() < 5 * np.sqrt(0.75 * 0.25 / calls)
    # Channels are drawn without replacement, hence the correlation of -1/11.
    pairs = np.corrcoef(np.transpose(masks))[np.triu_indices(12, 1)]
    assert np.abs(pairs + 1 / 11).max() < 5 / np.sqrt(calls)


def test_kept_channels_equal_stored_channels():
    """If the draws changed, finished runs could not be repeated."""
    mask = kept_channels(FeatureMapDropout(0.5, seed=20160222), 7)
    assert np.packbits(mask).tobytes().hex() == "56ec0b45cd"


def test_functions_traced_after_a_change_of_the_rate_use_the_new_rate():
    layer, x = FeatureMapDropout(0.0, seed=2), ones(2, 20)

    def traced(training):
        return tf.function(lambda x: layer(x, training=training))

    before = traced(True), traced(False)
    with keyed(0, range(2)):
        for each in before:
            np.testing.assert_array_equal(each(x), x)
        layer.rate = 0.5
        expected = FeatureMapDropout(0.5, seed=2)(x, training=True)
        np.testing.assert_array_equal(traced(True)(x), expected)
        np.testing.assert_array_equal(traced(False)(x), x / 2)
        np.testing.assert_array_equal(before[0](x), x)
    assert np.sum(expected) == 20
