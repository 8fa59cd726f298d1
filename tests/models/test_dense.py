"""The fully connected networks have the layers and the initial weights of the paper."""

import math

import keras
import numpy as np
import pytest

import elu_zoo
from elu_zoo import errors

# network: {layer with weights: number of units}, in the order of the layers.
UNITS = {
    "mnist_mlp_8x128": {
        **{f"dense{i}": 128 for i in range(1, 9)},
        "classifier": 10,
    },
    "mnist_mlp_5x256": {
        **{f"dense{i}": 256 for i in range(1, 6)},
        "classifier": 10,
    },
    "mnist_autoencoder": {
        "encoder1": 1000,
        "encoder2": 500,
        "encoder3": 250,
        "code": 30,
        "decoder1": 250,
        "decoder2": 500,
        "decoder3": 1000,
        "pixels": 784,
    },
}
LAYERS_WITHOUT_ACTIVATION = ("classifier", "code", "pixels")


def dense(model):
    return [x for x in model.layers if isinstance(x, keras.layers.Dense)]


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("name", UNITS)
def test_only_hidden_layers_have_normalisation_and_activation(name, batch_norm):
    names = ["image", "rescale", "flatten"]
    for layer in UNITS[name]:
        norm = [f"norm_{layer}"] * batch_norm
        is_linear = layer in LAYERS_WITHOUT_ACTIVATION
        names += [layer] if is_linear else [layer, *norm, f"act_{layer}"]
    model = elu_zoo.get_model(name, batch_norm=batch_norm, preprocessing=True)
    names += ["reconstruction"] * ("pixels" in names)
    assert [layer.name for layer in model.layers] == names
    for before, after in zip(model.layers, model.layers[1:], strict=False):
        assert after.input is before.output, after.name
    assert model.output is model.layers[-1].output
    assert {layer.name: layer.units for layer in dense(model)} == UNITS[name]
    assert {layer.activation for layer in dense(model)} == {keras.activations.linear}
    norms = [x for x in model.layers if isinstance(x, keras.layers.BatchNormalization)]
    assert {(x.momentum, x.epsilon) for x in norms} <= {(0.9, 1e-5)}
    assert all(x.synchronized for x in norms)


@pytest.mark.parametrize("name", UNITS)
def test_initial_kernels_are_he_uniform_and_initial_biases_are_zero(name):
    """He-uniform draws are within sqrt(6 / fan_in) and have variance 2 / fan_in."""
    fan_in = 784
    for layer in dense(elu_zoo.get_model(name, preprocessing=False)):
        kernel = np.asarray(layer.kernel, np.float64)
        assert kernel.shape == (fan_in, UNITS[name][layer.name])
        bound = math.sqrt(6 / fan_in)
        assert 0.99 * bound < np.abs(kernel).max() <= bound * (1 + 1e-7)
        # The tolerances are four standard errors of uniform draws.
        assert abs(kernel.mean()) < 4 * math.sqrt(2 / fan_in / kernel.size)
        error = kernel.var() / (2 / fan_in) - 1
        assert abs(error) < 4 * math.sqrt(0.8 / kernel.size), layer.name
        assert not np.asarray(layer.bias).any()
        fan_in = layer.units


def test_two_layers_of_equal_shape_have_different_initial_kernels():
    model = elu_zoo.get_model(
        "mnist_autoencoder", input_shape=(10, 3, 1), width=0.03, preprocessing=False
    )
    kernels = {}
    for layer in dense(model):
        kernel = np.asarray(layer.kernel)
        kernels.setdefault(kernel.shape, []).append(kernel)
    (pair,) = [x for x in kernels.values() if len(x) == 2]
    assert (pair[0] != pair[1]).all()


@pytest.mark.parametrize(
    ("name", "width", "units"),
    [
        ("mnist_mlp_5x256", 2, [512] * 5 + [10]),
        ("mnist_autoencoder", 0.1, [100, 50, 25, 3, 25, 50, 100, 784]),
        ("mnist_autoencoder", 1e-4, [1] * 7 + [784]),
    ],
)
def test_width_multiplies_the_units(name, width, units):
    model = elu_zoo.get_model(name, width=width, preprocessing=False)
    assert [layer.units for layer in dense(model)] == units


@pytest.mark.parametrize(
    ("name", "arguments", "shape", "output_shape"),
    [
        ("mnist_mlp_5x256", {"num_classes": 3}, (6, 5, 2), (3,)),
        ("mnist_autoencoder", {}, (6, 5, 2), (6, 5, 2)),
    ],
)
def test_input_shape_sets_the_output_shape(name, arguments, shape, output_shape):
    model = elu_zoo.get_model(
        name, width=0.05, input_shape=list(shape), **arguments, preprocessing=False
    )
    assert model.input_shape == (None, *shape)
    assert model.output_shape == (None, *output_shape)
    assert model(np.zeros((2, *shape), np.float32)).shape == (2, *output_shape)


@pytest.mark.parametrize("layers", [0, 2.0])
def test_a_wrong_number_of_layers_raises_a_usage_error(layers):
    with pytest.raises(errors.UsageError, match=f"hidden_layers.* Received: {layers!r}"):
        elu_zoo.get_model("mnist_mlp_8x128", hidden_layers=layers)
