"""Every row of the table, computed in every way."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from rows import ROWS, TRAINED, each, examples, logits, schedule

from elu_zoo.training import devices
from elu_zoo.training.learner import Learner
from elu_zoo.training.step_resident import ResidentStep

each_row = each(ROWS)
DETERMINED = [row for row in TRAINED if not row.random]
STEPS = 5


@each_row
def test_xla(row):
    model, images = row.make(), examples(row).images.astype(np.float32)
    compiled = tf.function(lambda x: model(x, training=False), jit_compile=True)
    expected = logits(model, images)
    limit = 1e-5 * max(1, np.abs(expected).max())
    np.testing.assert_allclose(compiled(images), expected, rtol=0, atol=limit)


@each_row
@pytest.mark.parametrize(
    ("policy", "limit"),
    [("mixed_bfloat16", 0.05), ("mixed_float16", 0.01), ("float64", 1e-4)],
)
def test_precision(row, policy, limit):
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
        found, expected, rtol=0, atol=limit * max(1, np.abs(expected).max())
    )


def train(row, strategy):
    """Returns losses and weights, after one and after five of the trainer's steps."""
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
def test_two_runs_are_equal_to_the_last_bit(row):
    again = train(row, tf.distribute.get_strategy())
    for a, b in zip(again[1], train_on_one_device(row)[1], strict=True):
        np.testing.assert_array_equal(a, b)


# RReLU draws its slopes on each replica, so its rows have no equal on one device.
@each(DETERMINED)
def test_a_step_on_two_devices_is_one_on_one(row):
    strategy = devices.create_strategy("mirrored", 2)
    assert strategy.num_replicas_in_sync == 2
    # Synchronised batch normalisation takes the batch's variance as E[x^2] - E[x]^2,
    # summed in another order; each of eight layers divides by its root.
    limit = 1e-5 if row.updates else 1e-6
    pairs = zip(train(row, strategy)[0], train_on_one_device(row)[0], strict=True)
    differences = [np.abs(a - b).max() / max(1, np.abs(b).max()) for a, b in pairs]
    print(f"largest difference {max(differences):.1e}")
    assert max(differences) <= limit
