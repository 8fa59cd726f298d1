"""Training steps on images in memory: devices, XLA and lengths of calls."""

import time

import keras
import numpy as np
import pytest

from elu_zoo import zoo
from elu_zoo.data.dataset import Split
from elu_zoo.evaluation.loss import Objective
from elu_zoo.training.step.compilation import Compilation
from elu_zoo.training.step.devices import create_strategy
from elu_zoo.training.step.learner import Learner
from elu_zoo.training.step.resident import ResidentStep

COUNT, BATCH, STEPS, SHAPE, CLASSES = 96, 16, 20, (4, 4, 1), 3
# Factors on learning rates. Losses that are sums over pixels have larger gradients.
FACTORS = {
    "softmax_cross_entropy": 1,
    "sigmoid_cross_entropy": 0.1,
    "half_squared_error": 0.01,
}


def data():
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (COUNT, *SHAPE), "uint8")
    return Split(images, generator.integers(0, CLASSES, COUNT).astype("int32"))


def batches(steps=STEPS):
    return np.random.default_rng(1).integers(0, COUNT, (steps, BATCH)).astype("int32")


def rates(steps=STEPS, loss="softmax_cross_entropy"):
    values = FACTORS[loss] * np.linspace(0.02, 0.005, steps)
    return values.astype(np.float32)


def build(of_images=False, **arguments):
    name, classes = "mnist_mlp_8x128", {"num_classes": CLASSES}
    if of_images:
        name, classes = "mnist_autoencoder", {}
    arguments = {"width": 1 / 8, "input_shape": SHAPE, "seed": 3, **arguments}
    return zoo.get_model(name, preprocessing=True, **classes, **arguments)


def run(
    *, devices=1, compiled=False, steps_per_call=STEPS, cut=(STEPS,), momentum=0.9,
    loss="softmax_cross_entropy", **model_arguments
):  # fmt: skip
    """Trains in calls of `cut` iterations; returns losses, and [*weights, *slots]."""
    name = "one" if devices == 1 else "mirrored"
    strategy = create_strategy(name, devices)
    with strategy.scope():
        model = build(loss != "softmax_cross_entropy", **model_arguments)
        optimizer = keras.optimizers.SGD(momentum=momentum)
        optimizer.build(model.trainable_variables)
    initial = [np.array(v) for v in model.variables]
    policy = Compilation(compiled, steps_per_call)
    objective = Objective(loss, {"kind": "rescale", "scale": 1 / 255})
    learner = Learner(model, optimizer, objective, BATCH)
    step = ResidentStep(learner, data(), strategy, policy)
    ends = np.cumsum([0, *cut])
    values = [
        step.run(batches()[a:b], rates(loss=loss)[a:b])
        for a, b in zip(ends, ends[1:], strict=False)
    ]
    arrays = [np.array(v) for v in [*model.variables, *optimizer.variables]]
    assert any((a != b).any() for a, b in zip(arrays, initial, strict=False))
    return np.concatenate(values), arrays


def difference(result, expected):
    """Returns the largest difference between the arrays of two results of `run`."""
    return max(
        np.abs(np.asarray(a, np.float64) - b).max()
        for a, b in zip(result[1], expected[1], strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [{"compiled": True}, {"compiled": False, "loss": "sigmoid_cross_entropy"}]
)
def test_two_devices_train_the_same_as_one(arguments):
    one, two = run(**arguments), run(devices=2, **arguments)
    np.testing.assert_allclose(two[0], one[0], 1e-5)
    assert difference(two, one) <= 1e-6


@pytest.mark.slow
def test_batch_norm_of_two_devices_uses_the_whole_batch():
    one, two = (run(devices=n, batch_norm=True) for n in (1, 2))
    # Division by small variances enlarges rounding errors to 1e-4. Statistics of half
    # batches would cause differences above 0.01.
    assert difference(two, one) <= 1e-4
    np.testing.assert_allclose(two[0], one[0], 1e-4)


@pytest.mark.parametrize(("compiled", "activation"), [(False, "rrelu"), (True, "elu")])
def test_results_do_not_depend_on_call_lengths(compiled, activation, assert_same_bits):
    arguments = {"compiled": compiled, "activation": activation}
    values, expected = run(**arguments)
    for steps_per_call, cut in ((7, (1, 6, 5, 7, 1)), (1, (1,) * STEPS)):
        result = run(**arguments, steps_per_call=steps_per_call, cut=cut)
        assert result[0].tobytes() == values.tobytes()
        assert_same_bits(result[1], expected)


def test_calls_of_another_length_are_not_compiled_again():
    model = build()
    optimizer = keras.optimizers.SGD()
    optimizer.build(model.trainable_variables)
    objective = Objective("softmax_cross_entropy", {"kind": "rescale", "scale": 1})
    learner = Learner(model, optimizer, objective, BATCH)
    compilation = Compilation(True, STEPS)
    step = ResidentStep(learner, data(), create_strategy("one", 1), compilation)
    seconds = []
    for count in STEPS, STEPS - 1, STEPS - 2:
        start = time.process_time()
        step.run(batches(count), rates(count))
        seconds.append(time.process_time() - start)
    # A compilation takes more than 20 times as long as a call.
    assert max(seconds[1:]) < seconds[0] / 5


@pytest.mark.parametrize("activation", ["elu", "prelu"])
def test_xla_changes_results_by_rounding_only(activation):
    uncompiled = run(activation=activation)
    compiled = run(activation=activation, compiled=True)
    assert np.isfinite(uncompiled[0]).all()
    np.testing.assert_allclose(compiled[0], uncompiled[0], 1e-5)
    assert difference(compiled, uncompiled) <= 2e-6


def test_alpha_changes_the_trained_weights():
    half = run(activation={"name": "elu", "alpha": 0.5})
    assert difference(half, run(activation="elu")) > 1e-3
