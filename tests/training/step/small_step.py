"""Training steps of a small network with dropout and decay, on small coloured images."""

import keras
import numpy as np

from elu_zoo import initializers
from elu_zoo.activations import make
from elu_zoo.evaluation.loss import Objective
from elu_zoo.layers import Dropout, PadCropFlip
from elu_zoo.training.run import Learner
from elu_zoo.training.step.compilation import Compilation
from elu_zoo.training.step.devices import create_strategy

COUNT, BATCH, STEPS, SIDE, UNITS, CLASSES = 24, 8, 6, 8, 6, 3
PADDING, DROPPED, SEED, DECAY, FIRST = 1, 0.4, 11, 0.1, 70_000
RATES = np.linspace(0.1, 0.02, STEPS).astype(np.float32)


def draw_images(count=COUNT):
    """Returns images and labels."""
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (count, SIDE, SIDE, 3), "uint8")
    return images, generator.integers(0, CLASSES, count, "int32")


def draw_batches():
    """Returns batches of indices, and random numbers for crops."""
    generator = np.random.default_rng(1)
    batches = np.array([generator.permutation(COUNT)[:BATCH] for _ in range(STEPS)], "int32")
    high = (2 * PADDING + 1, 2 * PADDING + 1, 2)
    return batches, generator.integers(0, high, (STEPS, BATCH, 3)).astype("int32")


def build(activation="elu", dropped=DROPPED, decay=DECAY):
    """Returns a network with a hidden layer, dropout and a classifier."""

    def dense(units, name):
        return keras.layers.Dense(
            units,
            kernel_initializer=initializers.FanInNormal(1.0, len(name)),
            kernel_regularizer=keras.regularizers.L2(decay / 2) if decay else None,
            name=name,
        )

    return keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 3)),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Flatten(),
            dense(UNITS, "hidden"),
            make(activation, "act", seed=3),
            Dropout(dropped, seed=SEED, name="drop"),
            dense(CLASSES, "classifier"),
        ]
    )


def make_step(kind, data, strategy, compilation, model, optimizer, augmentation=None):
    """Returns a step of the class `kind`, which has all the batches in order."""
    objective = Objective("softmax_cross_entropy", {"kind": "none"})
    learner = Learner(model, optimizer, objective, BATCH, augmentation)
    step = kind(learner, data, strategy, compilation)
    step.start(draw_batches()[0])
    return step


def run(
    kind, data, *, devices=1, compiled=False, accumulate=1, steps_per_call=STEPS, augmented=True,
    nesterov=False, cut=(STEPS,), starts=(), **network
):  # fmt: skip
    """Trains in calls of `cut` iterations each; returns losses, and [*weights, *slots].

    After the iterations of `starts`, the step gets the batches that remain again.
    """
    strategy = create_strategy("one" if devices == 1 else "mirrored", devices)
    with strategy.scope():
        model = build(**network)
        optimizer = keras.optimizers.SGD(momentum=0.9, nesterov=nesterov)
        optimizer.build(model.trainable_variables)
    compilation = Compilation(compiled, steps_per_call, accumulate)
    augmentation = PadCropFlip(PADDING) if augmented else None
    step = make_step(kind, data, strategy, compilation, model, optimizer, augmentation)
    (batches, crops), losses, done = draw_batches(), [], 0
    for count in cut:
        if done in starts:
            step.start(batches[done:])
        part = slice(done, done + count)
        draws = crops[part] if augmented else None
        losses.append(step.run(batches[part], RATES[part], FIRST + done, draws))
        done += count
    variables = [*model.weights, *optimizer.variables[2:]]
    return np.concatenate(losses), [np.array(v) for v in variables]
