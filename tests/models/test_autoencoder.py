"""The outputs of mnist_autoencoder are compared with a forward pass in NumPy."""

import keras
import numpy as np
import pytest

import elu_zoo

MODEL = "mnist_autoencoder"
HIDDEN = {f"{part}{i}" for part in ("encoder", "decoder") for i in (1, 2, 3)}


def get(**arguments):
    return elu_zoo.get_model(
        MODEL, **{"preprocessing": False, "width": 0.05, "seed": 4, **arguments}
    )


def randomize(model):
    """Assigns random biases and normalisation parameters, and returns the model."""
    generator = np.random.default_rng(1)
    for layer in model.layers:
        for variable in layer.weights:
            if variable.path.endswith("kernel"):
                continue
            low = 0.5 if variable.path.endswith(("gamma", "variance")) else -0.3
            variable.assign(generator.uniform(low, low + 0.6, variable.shape))
    return model


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (6, 28, 28, 1), "uint8")


def forward(model, x, alpha=1.0, batch_norm=False):
    """Returns the code and the logits of a forward pass in NumPy, in float64."""
    x = x.astype(np.float64).reshape(len(x), -1)
    code = None
    for layer in model.layers:
        if not isinstance(layer, keras.layers.Dense):
            continue
        kernel, bias = (np.asarray(w, np.float64) for w in layer.weights)
        x = x @ kernel + bias
        if layer.name in HIDDEN:
            if batch_norm:
                norm = model.get_layer(f"norm_{layer.name}")
                gamma, beta, mean, variance = (
                    np.asarray(v, np.float64)
                    for v in (
                        *(norm.gamma, norm.beta),
                        *(norm.moving_mean, norm.moving_variance),
                    )
                )
                x = gamma * (x - mean) / np.sqrt(variance + 1e-5) + beta
            x = np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))
        elif layer.name == "code":
            code = x
    return code, x.reshape(-1, 28, 28, 1)


@pytest.mark.parametrize(("alpha", "batch_norm"), [(1.0, True), (0.5, False)])
def test_logits_equal_those_of_the_numpy_forward_pass(images, alpha, batch_norm):
    model = randomize(get(activation={"name": "elu", "alpha": alpha}, batch_norm=batch_norm))
    _, expected = forward(model, images / 255, alpha, batch_norm)
    logits = np.asarray(model((images / 255).astype(np.float32)))
    np.testing.assert_allclose(logits, expected, atol=2e-5 * np.abs(expected).max())
    logits_of_another_alpha = forward(model, images / 255, 1.5 - alpha, batch_norm)[1]
    assert np.abs(expected - logits_of_another_alpha).max() > 1e-2


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_raw_images_are_divided_by_255(images, dtype):
    model = randomize(get(preprocessing=True))
    expected = forward(model, images / 255)[1]
    logits = np.asarray(model(images.astype(dtype)))
    np.testing.assert_allclose(logits, expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("cut", "batch_norm"), [({"features": "code"}, False), ({"include_top": False}, True)]
)
def test_the_code_is_linear(images, cut, batch_norm):
    """A linear code has values below -1, the minimum of ELU."""
    arguments = {"preprocessing": True, "batch_norm": batch_norm, "width": 0.2}
    model = get(**arguments, **cut)
    expected = forward(get(**arguments), images / 255, 1.0, batch_norm)[0]
    assert model.output_shape == (None, 6) and model.layers[-1].name == "code"
    assert expected.min() < -1.0
    np.testing.assert_allclose(np.asarray(model(images)), expected, atol=1e-4)


def test_the_reconstruction_is_the_sigmoid_of_the_logits(images):
    model = get(preprocessing=True, classifier_activation="sigmoid")
    logits = forward(model, images / 255)[1]
    pixels = np.asarray(model(images))
    assert pixels.shape == images.shape and pixels.dtype == np.float32
    np.testing.assert_allclose(pixels, 1 / (1 + np.exp(-logits)), atol=2e-5)
    assert pixels.min() < 0.3 and pixels.max() > 0.7
