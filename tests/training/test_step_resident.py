import keras
import numpy as np
import pytest

from elu_zoo import zoo
from elu_zoo.data.dataset import Split
from elu_zoo.training.compilation import Compilation
from elu_zoo.training.devices import create_strategy
from elu_zoo.training.evaluate import inference
from elu_zoo.training.learner import Learner
from elu_zoo.training.loss import Objective
from elu_zoo.training.step_resident import ResidentStep

COUNT, BATCH, STEPS, SHAPE, CLASSES = 96, 16, 20, (4, 4, 1), 3
CODE = 3  # the linear layer of the autoencoder, counted from 0
# Relative to the classifier's; a sum over pixels has larger gradients.
PACE = {
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
    values = PACE[loss] * np.linspace(0.02, 0.005, steps)
    return values.astype(np.float32)


def build(of_images=False, **arguments):
    name, classes = "mnist_mlp_8x128", {"num_classes": CLASSES}
    if of_images:
        name, classes = "mnist_autoencoder", {}
    arguments = {"width": 1 / 8, "input_shape": SHAPE, "seed": 3, **arguments}
    return zoo.get_model(name, preprocessing=True, **classes, **arguments)


def run(
    *, devices=1, compiled=False, steps_per_call=STEPS, cut=(STEPS,), momentum=0.9,
    loss="softmax_cross_entropy", **model_arguments,
):  # fmt: skip
    """Trains STEPS iterations; returns losses and arrays of model and optimizer."""
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


def difference(found, expected):
    return max(
        np.abs(np.asarray(a, np.float64) - b).max()
        for a, b in zip(found[1], expected[1], strict=True)
    )


def loss_and_slope(loss, z, label, t):
    """Values and their derivatives by the outputs z, of labels or of images t."""
    if loss == "half_squared_error":
        return (z - t) ** 2 / 2, z - t
    if loss == "sigmoid_cross_entropy":
        value = t * np.logaddexp(0, -z) + (1 - t) * np.logaddexp(0, z)
        return value, 1 / (1 + np.exp(-z)) - t
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return -np.log(p) * label, p - label


def reference(steps, momentum, arrays, loss):
    """Heavy-ball SGD on the ELU net in float64."""
    arrays = [a.astype(np.float64) for a in arrays]
    slots = [np.zeros_like(a) for a in arrays]
    linear = [] if loss == "softmax_cross_entropy" else [CODE]
    split, values = data(), []
    for batch, rate in zip(batches(steps), rates(steps, loss), strict=True):
        pixels = x = split.images[batch].reshape(BATCH, -1) / 255
        label = np.eye(CLASSES)[split.labels[batch]]
        inputs, slopes = [], []
        layers = zip(arrays[:-2:2], arrays[1:-2:2], strict=True)
        for index, (kernel, bias) in enumerate(layers):
            inputs.append(x)
            x = z = x @ kernel + bias
            if index not in linear:
                x = np.where(z > 0, z, np.expm1(np.minimum(z, 0)))
            slopes.append(np.where((z > 0) | (index in linear), 1, x + 1))
        inputs.append(x)
        outputs = x @ arrays[-2] + arrays[-1]
        value, delta = loss_and_slope(loss, outputs, label, pixels)
        values.append(value.sum() / BATCH)
        delta, gradients = delta / BATCH, []
        for layer in reversed(range(len(inputs))):
            gradients[:0] = [inputs[layer].T @ delta, delta.sum(0)]
            if layer:
                delta = delta @ arrays[2 * layer].T * slopes[layer - 1]
        for array, slot, gradient in zip(arrays, slots, gradients, strict=True):
            slot[...] = momentum * slot - np.float64(rate) * gradient
            array += slot
    return values, arrays


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "loss, momentum, steps",
    [
        ("softmax_cross_entropy", 0.0, 1),
        ("softmax_cross_entropy", 0.9, STEPS),
        ("sigmoid_cross_entropy", 0.0, STEPS),
        ("half_squared_error", 0.0, STEPS),
    ],
)
def test_equals_float64(compiled, loss, momentum, steps):
    model = build(loss != "softmax_cross_entropy")
    initial = [np.array(v) for v in model.weights]
    values, expected = reference(steps, momentum, initial, loss)
    found = run(compiled=compiled, momentum=momentum, cut=(steps,), loss=loss)
    np.testing.assert_allclose(found[0], values, 1e-5)
    for a, b in zip(found[1], expected, strict=False):
        np.testing.assert_allclose(a, b, 0, 1e-6)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "arguments",
    [{"momentum": 0.0}, {"momentum": 0.9}, {"loss": "sigmoid_cross_entropy"}],
)
def test_two_devices_equal_one(compiled, arguments):
    arguments = {"compiled": compiled, **arguments}
    one, two = run(**arguments), run(devices=2, **arguments)
    np.testing.assert_allclose(two[0], one[0], 1e-5)
    assert difference(two, one) <= 1e-6


def test_two_devices_normalise_over_the_whole_batch():
    one, two = (run(devices=n, batch_norm=True) for n in (1, 2))
    # Rounding, enlarged by normalising with the variance of small units. Statistics
    # of each half batch alone would differ by more than 0.01.
    assert difference(two, one) <= 1e-4
    np.testing.assert_allclose(two[0], one[0], 1e-4)


@pytest.mark.parametrize("compiled", [False, True])
def test_result_depends_neither_on_steps_per_call_nor_on_the_cut(
    compiled, assert_same_bits
):
    values, expected = run(compiled=compiled, steps_per_call=100)
    for steps_per_call, cut in (
        (100, (13, 7)),
        (7, (1, 6, 5, 7, 1)),
        (1, (1,) * STEPS),
    ):
        found = run(compiled=compiled, steps_per_call=steps_per_call, cut=cut)
        assert found[0].tobytes() == values.tobytes()
        assert_same_bits(found[1], expected)


def test_two_devices_do_not_depend_on_the_cut(assert_same_bits):
    expected = run(devices=2, steps_per_call=100)
    found = run(devices=2, steps_per_call=7, cut=(7, 7, 6))
    assert_same_bits(found[1], expected[1])


@pytest.mark.parametrize("activation", ["elu", "relu", "prelu"])
def test_compiled_is_close_to_uncompiled(activation):
    plain = run(activation=activation)
    compiled = run(activation=activation, compiled=True)
    assert np.isfinite(plain[0]).all()
    np.testing.assert_allclose(compiled[0], plain[0], 1e-5)
    assert difference(compiled, plain) <= 2e-6


def test_random_slopes_go_on_from_call_to_call(assert_same_bits):
    whole = run(activation="rrelu")
    cut = run(activation="rrelu", cut=(9, 11))
    assert_same_bits(cut[1], whole[1])


def test_alpha_acts_in_training():
    half = run(activation={"name": "elu", "alpha": 0.5})
    assert difference(half, run(activation="elu")) > 1e-3


def test_forward_takes_any_batch():
    model = zoo.get_model("mnist_mlp_8x128", width=0.1, preprocessing=True)
    call = inference(model)
    images = np.random.default_rng(0).random((5, 28, 28, 1)).astype("float32") * 255
    whole = np.asarray(call(images))
    assert whole.shape == (5, 10)
    np.testing.assert_allclose(call(images[:2]), whole[:2], 1e-5, 1e-6)
    np.testing.assert_allclose(whole, model(images, training=False), 1e-5, 1e-6)
