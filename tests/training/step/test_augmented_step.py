"""Training steps with crops, keyed dropout, kernel decay and Nesterov's momentum.

The masks of keyed dropout are a function of seed, iteration and example.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import initializers
from elu_zoo.data.dataset import Split
from elu_zoo.evaluation.loss import Objective
from elu_zoo.layers import Dropout, PadCropFlip, dropout
from elu_zoo.training.step.compilation import Compilation
from elu_zoo.training.step.devices import create_strategy
from elu_zoo.training.step.learner import Learner
from elu_zoo.training.step.resident import ResidentStep

COUNT, BATCH, STEPS, SIDE, UNITS, CLASSES = 40, 8, 6, 4, 6, 3
PADDING, DROPPED, SEED, DECAY, FIRST = 1, 0.4, 11, 0.1, 70_000
RATES = np.linspace(0.5, 0.1, STEPS).astype(np.float32)


def make_inputs():
    """Returns images with labels, batches of indices, and random numbers for crops."""
    generator = np.random.default_rng(0)
    images = generator.normal(size=(COUNT, SIDE, SIDE, 1)).astype("float32")
    data = Split(images, generator.integers(0, CLASSES, COUNT).astype("int32"))
    batches = generator.integers(0, COUNT, (STEPS, BATCH)).astype("int32")
    high = (2 * PADDING + 1, 2 * PADDING + 1, 2)
    crops = generator.integers(0, high, (STEPS, BATCH, 3)).astype("int32")
    return data, batches, crops


def build(rate=DROPPED, decay=DECAY):
    """Returns a network: a convolution, dropout and a classifier."""

    def convolution(units, field, name):
        return keras.layers.Conv2D(
            units,
            field,
            kernel_initializer=initializers.FanInNormal(1.0, len(name)),
            kernel_regularizer=keras.regularizers.L2(decay / 2) if decay else None,
            name=name,
        )

    return keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 1)),
            convolution(UNITS, SIDE, "conv"),
            Dropout(rate, seed=SEED, name="drop"),
            convolution(CLASSES, 1, "classifier"),
            keras.layers.Flatten(),
        ]
    )


def make_step(data, compilation, augmentation=None, model=None):
    model, strategy = model or build(), tf.distribute.get_strategy()
    optimizer = keras.optimizers.SGD()
    optimizer.build(model.trainable_variables)
    objective = Objective("softmax_cross_entropy", {"kind": "none"})
    learner = Learner(model, optimizer, objective, BATCH, augmentation)
    return ResidentStep(learner, data, strategy, compilation)


def run(
    *, devices=1, compiled=False, nesterov=False, augmented=True, cut=(STEPS,),
    momentum=0.9, accumulate=1, **arguments
):  # fmt: skip
    """Trains in calls of `cut` iterations; returns losses, and [*weights, *slots]."""
    data, batches, crops = make_inputs()
    name = "one" if devices == 1 else "mirrored"
    strategy = create_strategy(name, devices)
    with strategy.scope():
        model = build(**arguments)
        optimizer = keras.optimizers.SGD(momentum=momentum, nesterov=nesterov)
        optimizer.build(model.trainable_variables)
    objective = Objective("softmax_cross_entropy", {"kind": "none"})
    augmentation = PadCropFlip(PADDING) if augmented else None
    learner = Learner(model, optimizer, objective, BATCH, augmentation)
    step = ResidentStep(learner, data, strategy, Compilation(compiled, STEPS, accumulate))
    losses, done = [], 0
    for count in cut:
        part = slice(done, done + count)
        draws = crops[part] if augmented else None
        losses.append(step.run(batches[part], RATES[part], FIRST + done, draws))
        done += count
    arrays = [np.array(v) for v in [*model.weights, *optimizer.variables[2:]]]
    assert len(arrays) == 4 * (2 if momentum else 1)
    return np.concatenate(losses), arrays


def crop(images, crops):
    """Returns the output of PadCropFlip, computed by a loop over images."""
    padded = np.pad(images, ((0, 0), (PADDING,) * 2, (PADDING,) * 2, (0, 0)))
    parts = [
        image[y : y + SIDE, x : x + SIDE][:, :: -1 if flip else 1]
        for image, (y, x, flip) in zip(padded, crops, strict=True)
    ]
    return np.stack(parts)


def dropout_mask(iteration, batch, rate):
    kept = dropout.kept_values(SEED, iteration, batch, (1, 1, UNITS), rate)
    return np.asarray(kept).reshape(BATCH, UNITS)


def reference(nesterov=False, augmented=True, rate=DROPPED, decay=DECAY, momentum=0.9):
    """Returns the results of `run`, computed by NumPy in float64.

    As in Caffe, the decay adds decay * w to the gradient of a kernel w.
    """
    data, batches, crops = make_inputs()
    arrays = [np.array(v, np.float64) for v in build().weights]
    arrays = [a.reshape(-1, a.shape[-1]) if a.ndim > 1 else a for a in arrays]
    slots, losses = [np.zeros_like(a) for a in arrays], []
    for i, batch in enumerate(batches):
        images = data.images[batch].astype(np.float64)
        x = (crop(images, crops[i]) if augmented else images).reshape(BATCH, -1)
        kernel, bias, kernel2, bias2 = arrays
        factor = dropout_mask(FIRST + i, batch, rate) / (1 - rate) if rate else 1.0
        hidden = (x @ kernel + bias) * factor
        z = hidden @ kernel2 + bias2
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        label = np.eye(CLASSES)[data.labels[batch]]
        losses.append(-(np.log(p) * label).sum() / BATCH)
        delta = (p - label) / BATCH
        hidden_delta = delta @ kernel2.T * factor
        gradients = (
            x.T @ hidden_delta,
            hidden_delta.sum(0),
            hidden.T @ delta,
            delta.sum(0),
        )
        for array, slot, gradient in zip(arrays, slots, gradients, strict=True):
            gradient = gradient + decay * array * (array.ndim > 1)
            step = np.float64(RATES[i]) * gradient
            slot[...] = momentum * slot - step
            array += momentum * slot - step if nesterov else slot
    return losses, [*arrays, *slots]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"nesterov": True},
        {"augmented": False},
        {"rate": 0.0},
        {"decay": 0.0},
        {"nesterov": True, "compiled": True},
        {"accumulate": 4, "compiled": True},
        {"accumulate": 8, "augmented": False, "rate": 0.0, "decay": 0.0},
        {"devices": 2, "nesterov": True, "compiled": True},
        {"devices": 2, "accumulate": 2},
    ],
)
def test_losses_weights_and_slots_equal_numpy_in_float64(arguments):
    losses, arrays = run(**arguments)
    # Arguments that change the order of the computation but not its result.
    neutral = ("compiled", "accumulate", "devices")
    arguments = {k: v for k, v in arguments.items() if k not in neutral}
    expected_losses, expected = reference(**arguments)
    np.testing.assert_allclose(losses, expected_losses, 2e-5)
    for found, array in zip(arrays, expected, strict=True):
        np.testing.assert_allclose(found.reshape(array.shape), array, 0, 5e-6)


def test_results_do_not_depend_on_call_lengths(assert_same_bits):
    losses, arrays = run()
    result = run(cut=(1, 2, 3))
    assert result[0].tobytes() == losses.tobytes()
    assert_same_bits(result[1], arrays)


def test_accumulate_computes_the_parts_one_after_the_other():
    data, batches, crops = make_inputs()
    sizes, augmentation = set(), PadCropFlip(PADDING)

    def augment(images, draws):
        sizes.add((images.shape[0], draws.shape[0]))
        return augmentation(images, draws)

    step = make_step(data, Compilation(False, STEPS, 4), augment)
    step.run(batches, RATES, 0, crops)
    assert sizes == {(BATCH // 4, BATCH // 4)}
    graph = step._call.get_concrete_function().graph.as_graph_def()
    inner = [n for f in graph.library.function for n in f.node_def]
    loops = [n.attr["parallel_iterations"].i for n in inner if "While" in n.op]
    assert loops == [1]


def test_dropout_masks_depend_on_the_iteration():
    data, batches, _ = make_inputs()
    step = make_step(data, Compilation(False, 1))
    zero = np.zeros(1, np.float32)  # a learning rate that keeps the weights
    losses = [float(step.run(batches[:1], zero, first)[0]) for first in (5, 6, 5)]
    assert losses[0] == losses[2] != losses[1]


def test_a_changed_dropout_rate_takes_effect_after_compile():
    data, batches, _ = make_inputs()
    model = build()
    step = make_step(data, Compilation(False, 1), model=model)
    zero, losses = np.zeros(1, np.float32), []
    for rate, recompile in ((DROPPED, False), (0.0, False), (0.0, True)):
        model.get_layer("drop").rate = rate
        if recompile:
            step.compile()
        losses.append(float(step.run(batches[:1], zero)[0]))
    assert losses[0] == losses[1] != losses[2]
