"""Every row of the table: XLA, precision, training steps."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from rows import QUICK_LAYERS, ROWS, TRAINED, each, examples, logits, schedule

from elu_zoo.training import devices
from elu_zoo.training.learner import Learner
from elu_zoo.training.step_resident import ResidentStep

DETERMINED = [row for row in TRAINED if not row.random]
STEPS = 5


@each(ROWS)
def test_xla(row):
    """Compiled models take batches of unknown size."""
    model, images = row.make(), examples(row).images.astype(np.float32)
    signature = [tf.TensorSpec([None, *row.image_shape])]
    compiled = tf.function(
        lambda x: model(x, training=False), input_signature=signature, jit_compile=True
    )
    expected = logits(model, images)
    limit = 1e-5 * max(1, np.abs(expected).max())
    np.testing.assert_allclose(compiled(images), expected, rtol=0, atol=limit)


LIMITS = {"mixed_bfloat16": 0.05, "mixed_float16": 0.01, "float64": 1e-4}


@each(ROWS, QUICK_LAYERS)
def test_bfloat16(row):
    check_precision(row, "mixed_bfloat16")


@each(ROWS)
@pytest.mark.parametrize("policy", ["mixed_float16", "float64"])
def test_precision(row, policy):
    check_precision(row, policy)


def check_precision(row, policy):
    images = examples(row).images
    expected = logits(row.make(), images)
    keras.config.set_dtype_policy(policy)
    try:
        model = row.make()
    finally:
        keras.config.set_dtype_policy("float32")
    found = logits(model, images)
    assert found.dtype == np.float32
    np.testing.assert_allclose(
        found, expected, rtol=0, atol=LIMITS[policy] * max(1, np.abs(expected).max())
    )


def train(row, strategy):
    """Returns losses and weights, after one and after five training steps."""
    with strategy.scope():
        model = row.make()
        optimizer = keras.optimizers.SGD(momentum=0.9)
        optimizer.build(model.trainable_variables)
    replicas = strategy.num_replicas_in_sync
    policy = devices.choose_compilation(model, replicas, "auto", STEPS)
    data = examples(row)
    learner = Learner(model, optimizer, row.objective, 8, row.augmentation)
    step = ResidentStep(learner, data, strategy, policy)
    found = []
    for part in (slice(0, 1), slice(1, STEPS)):
        found.append(step.run(*schedule(row, part)))
        found += [np.asarray(variable) for variable in model.weights]
    return found[: len(found) // 2], found[len(found) // 2 :]


@functools.cache
def train_on_one_device(row):
    return train(row, tf.distribute.get_strategy())


@each(TRAINED)
def test_two_runs_are_bit_equal(row):
    again = train(row, tf.distribute.get_strategy())
    for a, b in zip(again[1], train_on_one_device(row)[1], strict=True):
        np.testing.assert_array_equal(a, b)


# RReLU draws different slopes on each replica.
@each(DETERMINED)
def test_two_devices_equal_one(row):
    strategy = devices.create_strategy("mirrored", 2)
    assert strategy.num_replicas_in_sync == 2
    # Synchronised batch normalisation computes the variance as E[x^2] - E[x]^2, in
    # another order of sums, in each of eight layers.
    limit = 1e-5 if row.updates else 1e-6
    pairs = zip(train(row, strategy)[0], train_on_one_device(row)[0], strict=True)
    differences = [np.abs(a - b).max() / max(1, np.abs(b).max()) for a, b in pairs]
    print(f"largest difference {max(differences):.1e}")
    assert max(differences) <= limit
