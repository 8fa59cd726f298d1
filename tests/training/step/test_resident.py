"""Training steps on images in memory: crops, keyed dropout, decay, momentum, devices, XLA.

The masks of keyed dropout are a function of seed, iteration and example.
"""

import keras
import numpy as np
import pytest
import small_step as small
import tensorflow as tf
from small_step import draw_batches, make_step, run

from elu_zoo.data.dataset import Split
from elu_zoo.layers import PadCropFlip, dropout
from elu_zoo.training.step.compilation import Compilation
from elu_zoo.training.step.resident import ResidentStep

MOMENTUM, DATA = 0.9, Split(*small.draw_images())


def create(compilation, augmentation=None):
    """Returns a step that trains by SGD without momentum."""
    model, strategy, sgd = small.build(), tf.distribute.get_strategy(), keras.optimizers.SGD()
    sgd.build(model.trainable_variables)
    return make_step(ResidentStep, DATA, strategy, compilation, model, sgd, augmentation)


def crop(images, crops):
    """Returns the output of PadCropFlip, computed by a loop over images."""
    padded = np.pad(images, ((0, 0), (small.PADDING,) * 2, (small.PADDING,) * 2, (0, 0)))
    parts = [
        image[y : y + small.SIDE, x : x + small.SIDE][:, :: -1 if flip else 1]
        for image, (y, x, flip) in zip(padded, crops, strict=True)
    ]
    return np.stack(parts)


def dropout_mask(iteration, batch, rate):
    kept = dropout.kept_values(small.SEED, iteration, batch, (small.UNITS,), rate)
    return np.asarray(kept)


def reference(nesterov=False, augmented=True, dropped=small.DROPPED, decay=small.DECAY):
    """Returns the results of `run`, computed by NumPy in float64.

    As in Caffe, the decay adds decay * w to the gradient of a kernel w.
    """
    batches, crops = draw_batches()
    arrays = [np.array(v, np.float64) for v in small.build().weights]
    slots, losses = [np.zeros_like(a) for a in arrays], []
    for i, batch in enumerate(batches):
        images = DATA.images[batch].astype(np.float64)
        x = (crop(images, crops[i]) if augmented else images).reshape(small.BATCH, -1) / 255
        kernel, bias, kernel2, bias2 = arrays
        factor = dropout_mask(small.FIRST + i, batch, dropped) / (1 - dropped) if dropped else 1.0
        net = x @ kernel + bias
        hidden = np.where(net > 0, net, np.expm1(net)) * factor
        z = hidden @ kernel2 + bias2
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        label = np.eye(small.CLASSES)[DATA.labels[batch]]
        losses.append(-(np.log(p) * label).sum() / small.BATCH)
        delta = (p - label) / small.BATCH
        hidden_delta = delta @ kernel2.T * factor * np.where(net > 0, 1, np.exp(net))
        gradients = (x.T @ hidden_delta, hidden_delta.sum(0), hidden.T @ delta, delta.sum(0))
        for array, slot, gradient in zip(arrays, slots, gradients, strict=True):
            gradient = gradient + decay * array * (array.ndim > 1)
            step = np.float64(small.RATES[i]) * gradient
            slot[...] = MOMENTUM * slot - step
            array += MOMENTUM * slot - step if nesterov else slot
    return losses, [*arrays, *slots]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"augmented": False, "dropped": 0.0, "decay": 0.0},
        pytest.param({"nesterov": True, "compiled": True}, marks=pytest.mark.slow),
        {"accumulate": 4},
        pytest.param({"devices": 2, "accumulate": 2}, marks=pytest.mark.slow),
        pytest.param({"devices": 2, "nesterov": True, "compiled": True}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_losses_weights_and_slots_equal_numpy_in_float64(arguments):
    losses, arrays = run(ResidentStep, DATA, **arguments)
    # Arguments that change the order of the computation but not its result.
    neutral = ("compiled", "accumulate", "devices")
    arguments = {k: v for k, v in arguments.items() if k not in neutral}
    expected_losses, expected = reference(**arguments)
    np.testing.assert_allclose(losses, expected_losses, 2e-5)
    for found, array in zip(arrays, expected, strict=True):
        np.testing.assert_allclose(found, array, 0, 5e-6)


@pytest.mark.parametrize(
    ("compiled", "activation"),
    [(False, "rrelu"), pytest.param(True, "elu", marks=pytest.mark.slow)],
)
def test_results_do_not_depend_on_call_lengths(compiled, activation, assert_same_bits):
    arguments = {"compiled": compiled, "activation": activation}
    losses, arrays = run(ResidentStep, DATA, **arguments)
    ones = () if compiled else ((1, (1,) * small.STEPS),)
    for steps_per_call, cut in ((4, (1, 3, 2)), *ones):
        result = run(ResidentStep, DATA, **arguments, steps_per_call=steps_per_call, cut=cut)
        assert_same_bits([result[0], *result[1]], [losses, *arrays])


def test_accumulate_computes_the_parts_one_after_the_other():
    batches, crops = draw_batches()
    sizes, augmentation = set(), PadCropFlip(small.PADDING)

    def augment(images, draws):
        sizes.add((images.shape[0], draws.shape[0]))
        return augmentation(images, draws)

    step = create(Compilation(False, small.STEPS, 4), augment)
    step.run(batches, small.RATES, 0, crops)
    assert sizes == {(small.BATCH // 4, small.BATCH // 4)}
    graph = step._call.get_concrete_function().graph.as_graph_def()
    inner = [n for f in graph.library.function for n in f.node_def]
    loops = [n.attr["parallel_iterations"].i for n in inner if "While" in n.op]
    assert loops == [1]


@pytest.mark.parametrize("compiled", [False, True])
def test_only_compiled_steps_compute_elu_by_its_polynomial(compiled):
    step = create(Compilation(compiled, 1))
    graph = str(step._call.get_concrete_function().graph.as_graph_def())
    assert ('op: "Elu"' in graph) != compiled and 'op: "MatMul"' in graph
