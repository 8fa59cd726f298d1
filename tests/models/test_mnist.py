"""The fully connected networks have the paper's layers; their outputs equal NumPy's."""

import math
import subprocess
import sys

import keras
import numpy as np
import pytest

import elu_zoo
from elu_zoo import errors

# network: {layer with weights: number of units}, in the order of the layers.
UNITS = {
    "mnist_mlp_8x128": {**{f"dense{i}": 128 for i in range(1, 9)}, "classifier": 10},
    "mnist_mlp_5x256": {**{f"dense{i}": 256 for i in range(1, 6)}, "classifier": 10},
    "mnist_autoencoder": {
        "encoder1": 1000, "encoder2": 500, "encoder3": 250, "code": 30,
        "decoder1": 250, "decoder2": 500, "decoder3": 1000, "pixels": 784,
    },
}  # fmt: skip
LAYERS_WITHOUT_ACTIVATION = ("classifier", "code", "pixels")
each_net = pytest.mark.parametrize("name", UNITS)


def get(name="mnist_mlp_8x128", **arguments):
    return elu_zoo.get_model(name, **{"preprocessing": False, "seed": 4, **arguments})


def images(count=6):
    return np.random.default_rng(0).integers(0, 256, (count, 28, 28, 1), "uint8")


def dense(model):
    return [x for x in model.layers if isinstance(x, keras.layers.Dense)]


def randomize(model):
    """Assigns random biases and normalisation parameters, and returns the model."""
    generator = np.random.default_rng(1)
    for variable in model.weights:
        if not variable.path.endswith("kernel"):
            low = 0.5 if variable.path.endswith(("gamma", "variance")) else -0.3
            variable.assign(generator.uniform(low, low + 0.6, variable.shape))
    return model


def forward(model, x, alpha=1.0, batch_norm=False):
    """Returns the outputs of the dense layers by name, each before its normalisation."""
    x, outputs = (x / 255).reshape(len(x), -1), {}
    for layer in dense(model):
        kernel, bias = (np.asarray(w, np.float64) for w in layer.weights)
        outputs[layer.name] = x = x @ kernel + bias
        if layer.name in LAYERS_WITHOUT_ACTIVATION:
            continue
        if batch_norm:
            norm = model.get_layer(f"norm_{layer.name}")
            gamma, beta, mean, variance = (np.asarray(v, np.float64) for v in norm.weights)
            x = gamma * (x - mean) / np.sqrt(variance + 1e-5) + beta
        x = np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))
    return outputs


@each_net
@pytest.mark.parametrize(
    ("alpha", "batch_norm", "raw"), [(1.0, True, False), (0.5, False, False), (1.0, False, True)]
)
def test_logits_equal_those_of_the_numpy_forward_pass(name, alpha, batch_norm, raw):
    activation = {"name": "elu", "alpha": alpha}
    model = randomize(
        get(name, activation=activation, batch_norm=batch_norm, preprocessing=raw, width=0.1)
    )
    *_, expected = forward(model, images(), alpha, batch_norm).values()
    logits = model(images() if raw else (images() / 255).astype(np.float32))
    limit = 2e-5 * np.abs(expected).max()
    np.testing.assert_allclose(np.reshape(logits, expected.shape), expected, atol=limit)
    *_, other = forward(model, images(), 1.5 - alpha, batch_norm).values()
    assert np.abs(expected - other).max() > 1e-2


@pytest.mark.parametrize(
    ("cut", "batch_norm"), [({"features": "code"}, False), ({"include_top": False}, True)]
)
def test_the_code_is_linear(cut, batch_norm):
    """A linear code has values below -1, the minimum of ELU."""
    arguments = {"preprocessing": True, "batch_norm": batch_norm, "width": 0.2}
    model = get("mnist_autoencoder", **arguments, **cut)
    expected = forward(get("mnist_autoencoder", **arguments), images(), 1.0, batch_norm)["code"]
    assert model.output_shape == (None, 6) and model.layers[-1].name == "code"
    assert expected.min() < -1.0
    np.testing.assert_allclose(np.asarray(model(images())), expected, atol=1e-4)


def test_the_reconstruction_is_the_sigmoid_of_the_logits():
    model = get("mnist_autoencoder", preprocessing=True, classifier_activation="sigmoid")
    logits = forward(model, images())["pixels"].reshape(-1, 28, 28, 1)
    pixels = np.asarray(model(images()))
    np.testing.assert_allclose(pixels, 1 / (1 + np.exp(-logits)), atol=2e-5)
    assert pixels.min() < 0.3 and pixels.max() > 0.7


@each_net
@pytest.mark.parametrize("batch_norm", [False, True])
def test_only_hidden_layers_have_normalisation_and_activation(name, batch_norm):
    names = ["image", "rescale", "flatten"]
    for layer in UNITS[name]:
        norm = [f"norm_{layer}"] * batch_norm
        is_linear = layer in LAYERS_WITHOUT_ACTIVATION
        names += [layer] if is_linear else [layer, *norm, f"act_{layer}"]
    model = get(name, batch_norm=batch_norm, preprocessing=True)
    names += ["reconstruction"] * ("pixels" in names)
    assert [layer.name for layer in model.layers] == names
    for before, after in zip(model.layers, model.layers[1:], strict=False):
        assert after.input is before.output, after.name
    assert {layer.name: layer.units for layer in dense(model)} == UNITS[name]
    assert {layer.activation for layer in dense(model)} == {keras.activations.linear}
    norms = [x for x in model.layers if isinstance(x, keras.layers.BatchNormalization)]
    assert {(x.momentum, x.epsilon) for x in norms} <= {(0.9, 1e-5)}
    assert all(x.synchronized for x in norms)


@each_net
def test_initial_kernels_are_he_uniform(name):
    """He-uniform draws are within sqrt(6 / fan_in) and have variance 2 / fan_in."""
    for layer in dense(get(name)):
        kernel = np.asarray(layer.kernel, np.float64)
        bound = math.sqrt(6 / len(kernel))
        assert 0.99 * bound < np.abs(kernel).max() <= bound * (1 + 1e-7)
        # The tolerances are four standard errors of uniform draws.
        assert abs(kernel.mean()) < 4 * math.sqrt(2 / len(kernel) / kernel.size)
        error = kernel.var() / (2 / len(kernel)) - 1
        assert abs(error) < 4 * math.sqrt(0.8 / kernel.size), layer.name


@pytest.mark.parametrize(
    ("name", "width", "units"),
    [
        ("mnist_mlp_5x256", 2, [512] * 5 + [10]),
        ("mnist_autoencoder", 0.1, [100, 50, 25, 3, 25, 50, 100, 784]),
        ("mnist_autoencoder", 0.00195, [2, 1, 1, 1, 1, 1, 2, 784]),  # rounded, at least 1
    ],
)
def test_width_multiplies_the_units(name, width, units):
    assert [layer.units for layer in dense(get(name, width=width))] == units


@pytest.mark.parametrize(
    ("name", "arguments", "output_shape"),
    [("mnist_mlp_5x256", {"num_classes": 3}, (3,)), ("mnist_autoencoder", {}, (6, 5, 2))],
)
def test_input_shape_sets_the_output_shape(name, arguments, output_shape):
    model = get(name, width=0.05, input_shape=[6, 5, 2], **arguments)
    assert model.input_shape == (None, 6, 5, 2)
    assert model(np.zeros((2, 6, 5, 2), np.float32)).shape == (2, *output_shape)


@pytest.mark.parametrize("layers", [0, 2.0])
def test_a_wrong_number_of_layers_raises_a_usage_error(layers):
    with pytest.raises(errors.UsageError, match="hidden_layers"):
        get(hidden_layers=layers)


LOAD = """
import sys
import elu_zoo
import keras
x = keras.ops.ones((1, 28, 28, 1))
print(float(keras.ops.sum(keras.models.load_model(sys.argv[1])(x))))
"""


@pytest.mark.slow
def test_a_saved_model_can_be_loaded_in_another_process(tmp_path):
    model = get(activation="prelu", batch_norm=True, preprocessing=True, width=0.1)
    model.save(tmp_path / "x.keras")
    command = [sys.executable, "-c", LOAD, str(tmp_path / "x.keras")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = np.sum(model(np.ones((1, 28, 28, 1), np.float32)))
    assert float(result.stdout.split()[-1]) == pytest.approx(expected, rel=1e-5)
