"""Rows of the table compute the same with XLA, in other dtypes and on two devices."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from rows import LARGE, ROWS, TRAINED, each, examples, logits, schedule

from elu_zoo.training.run import Learner
from elu_zoo.training.step import compilation, devices
from elu_zoo.training.step.resident import ResidentStep

DETERMINED = [row for row in TRAINED if not row.random]
STEPS = 5


@each(ROWS, nightly=LARGE)
def test_logits_of_an_xla_function_equal_the_eager_logits(row):
    model, images = row.make(), examples(row).images.astype(np.float32)
    signature = [tf.TensorSpec([None, *row.image_shape])]
    compiled = tf.function(
        lambda x: model(x, training=False), input_signature=signature, jit_compile=True
    )
    expected = logits(model, images)
    limit = 1e-5 * max(1, np.abs(expected).max())
    np.testing.assert_allclose(compiled(images), expected, rtol=0, atol=limit)


# Largest difference from the logits in float32, relative to the largest logit.
LIMITS = {"mixed_bfloat16": 0.05, "mixed_float16": 0.01, "float64": 1e-4}


@each(ROWS)
@pytest.mark.parametrize("policy", LIMITS)
def test_logits_in_other_dtypes_are_close_to_float32(row, policy):
    images = examples(row).images
    expected = logits(row.make(), images)
    keras.config.set_dtype_policy(policy)
    try:
        model = row.make()
    finally:
        keras.config.set_dtype_policy("float32")
    computed = logits(model, images)
    assert computed.dtype == np.float32
    kinds = keras.layers.Dense | keras.layers.Conv2D
    *others, last = [x.compute_dtype for x in model.layers if isinstance(x, kinds)]
    assert last == "float32" and {*others} <= {policy.removeprefix("mixed_")}
    np.testing.assert_allclose(
        computed, expected, rtol=0, atol=LIMITS[policy] * max(1, np.abs(expected).max())
    )


def train(row, strategy):
    """Returns two lists of losses and weights: after one and after five steps."""
    with strategy.scope():
        model = row.make()
        optimizer = keras.optimizers.SGD(momentum=0.9)
        optimizer.build(model.trainable_variables)
    replicas = strategy.num_replicas_in_sync
    chosen = compilation.choose(model, replicas, "auto", STEPS)
    data = examples(row)
    learner = Learner(model, optimizer, row.objective, 8, row.augmentation)
    step = ResidentStep(learner, data, strategy, chosen)
    arrays = []
    for part in (slice(0, 1), slice(1, STEPS)):
        arrays.append(step.run(*schedule(row, part)))
        arrays += [np.asarray(variable) for variable in model.weights]
    return arrays[: len(arrays) // 2], arrays[len(arrays) // 2 :]


@functools.cache
def train_on_one_device(row):
    return train(row, tf.distribute.get_strategy())


@pytest.mark.slow
@each(TRAINED, nightly=LARGE)
def test_training_twice_gives_equal_bits(row):
    repeated = train(row, tf.distribute.get_strategy())
    for a, b in zip(repeated[1], train_on_one_device(row)[1], strict=True):
        np.testing.assert_array_equal(a, b)


# Rows with RReLU are left out, because each replica draws different slopes.
@pytest.mark.slow
@each(DETERMINED, nightly=LARGE)
def test_a_training_step_on_two_devices_equals_a_step_on_one(row):
    strategy = devices.create_strategy("mirrored", 2)
    assert strategy.num_replicas_in_sync == 2
    # Rounding differs more with synchronised batch normalisation, which computes the
    # variance as E[x^2] - E[x]^2 in each of eight layers.
    limit = 1e-5 if row.updates else 1e-6
    pairs = zip(train(row, strategy)[0], train_on_one_device(row)[0], strict=True)
    differences = [np.abs(a - b).max() / max(1, np.abs(b).max()) for a, b in pairs]
    assert max(differences) <= limit
