"""Responses of networks to noise, compared with NumPy in float64.

`KERAS_BACKEND=jax python ../no_tensorflow.py test_noise.py FILE` writes the arrays of
`numbers` to FILE.
"""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

import elu_zoo
from elu_zoo import activations, errors
from elu_zoo.paper.theory import noise
from elu_zoo.paper.theory.noise import derivative, noise_response

IMAGES = np.random.default_rng(0).standard_normal((6, 4, 5, 2), "float32")
NOISE = {"sigma": 0.3, "draws": 5, "seed": 3}
PIXELS = np.array([-1, 0, 2], "float32").reshape(3, 1, 1, 1)


def network():
    """Returns a net: convolution and ELU, dense layer and leaky ReLU, logits."""
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((4, 5, 2)),
            layers.Conv2D(2, (2, 3), name="conv"),
            activations.make("elu", "act_conv"),
            layers.Flatten(),
            layers.Dense(3, name="dense"),
            activations.make("leaky_relu", "act_dense"),
            layers.Dense(4, name="classifier"),
        ]
    )
    rng = np.random.default_rng(1)
    scales = (0.5, 0.1) * 3  # of kernels and biases
    weights = zip(scales, model.get_weights(), strict=True)
    model.set_weights([scale * rng.normal(size=w.shape) for scale, w in weights])
    return model


def reference(model, images):
    """Returns inputs, outputs and saturation of the layers, and the logits."""
    kernel, bias, dense, dense_bias, top, top_bias = map(
        np.float64, model.get_weights()
    )
    windows = np.lib.stride_tricks.sliding_window_view(images, (2, 3), (-3, -2))
    net = np.einsum("...hwcij,ijcu->...hwu", np.float64(windows), kernel) + bias
    output = np.where(net > 0, net, np.expm1(np.minimum(net, 0)))
    slope = np.where(net > 0, 1, np.exp(np.minimum(net, 0)))
    dense_net = output.reshape(*images.shape[:-3], -1) @ dense + dense_bias
    dense_output = np.where(dense_net > 0, dense_net, 0.1 * dense_net)
    layers = {
        "act_conv": (net, output, slope < 0.1),
        "act_dense": (dense_net, dense_output, np.zeros(dense_net.shape, bool)),
    }
    return layers, dense_output @ top + top_bias


def noisy_images():
    """Returns images with the noise of Philox, `(draws, images, ...)`."""
    draws = [
        np.random.Generator(np.random.Philox([3, i])).standard_normal(
            (5, 4, 5, 2), "float32"
        )
        for i in range(len(IMAGES))
    ]
    return IMAGES + np.float32(0.3) * np.stack(draws, axis=1)


def check_units(units, state, net, output, net_noise, output_noise):
    """Compares each unit with the mean over the rows in which `state` is true."""
    for unit, inside in enumerate(state.T):
        expected = noise.Units(
            share=inside.mean(),
            noise=output_noise[inside, unit].mean(),
            net_noise=net_noise[inside, unit].mean(),
            signal=output[inside, unit].var(),
            net_signal=net[inside, unit].var(),
        )
        for name, value in dataclasses.asdict(expected).items():
            array = getattr(units, name)
            assert array.dtype == np.float64 and array.shape == state.shape[1:]
            np.testing.assert_allclose(array[unit], value, rtol=1e-4, err_msg=name)
    share = state.mean(axis=0)
    gain = (state * output_noise).sum() / (state * net_noise).sum()
    assert units.noise_gain() == pytest.approx(gain, rel=1e-4)
    signal = (share * units.signal).sum() / (share * units.net_signal).sum()
    assert units.signal_gain() == pytest.approx(signal)


@pytest.mark.parametrize("images_a_part", [1000, 4])
def test_the_response_equals_the_response_computed_in_numpy(images_a_part, monkeypatch):
    values = NOISE["draws"] * (3 * 3 * 2 + 3)
    monkeypatch.setattr(noise, "_PART_VALUES", images_a_part * values)
    model = network()
    response = noise_response(model, IMAGES, **NOISE)
    layers, logits = reference(model, IMAGES)
    noisy_layers, noisy_logits = reference(model, noisy_images())
    assert list(response.layers) == list(layers)
    for name, (net, output, saturated) in layers.items():
        layer, units = response.layers[name], net.shape[-1]
        variances = [array.var(axis=0, ddof=1) for array in noisy_layers[name][:2]]
        arrays = [a.reshape(-1, units) for a in (net, output, *variances)]
        below = arrays[0] < 0
        assert below.any(axis=0).all() and (~below).any(axis=0).all()
        check_units(layer.every, np.full_like(below, True), *arrays)
        check_units(layer.deactivated, below, *arrays)
        np.testing.assert_allclose(
            layer.saturated, saturated.reshape(-1, units).mean(axis=0)
        )
        relative = arrays[3].mean(axis=0).sum() / arrays[1].var(axis=0).sum()
        assert layer.relative_noise() == pytest.approx(relative, rel=1e-4)
        within = (layer.deactivated.share * layer.deactivated.signal).sum()
        assert layer.deactivated_signal() == pytest.approx(
            within / layer.every.signal.sum()
        )
    assert response.layers["act_conv"].saturated.max() > 0

    probabilities = np.exp(noisy_logits)
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    variance = probabilities.var(axis=0, ddof=1).sum(axis=-1).mean()
    assert response.probability_noise == pytest.approx(variance, rel=1e-4)
    changed = (noisy_logits.argmax(-1) != logits.argmax(-1)).mean()
    assert response.changed == pytest.approx(changed) and 0 < changed < 1
    logit_noise = noisy_logits.var(axis=0, ddof=1).mean(axis=0)
    np.testing.assert_allclose(response.logit_noise, logit_noise, rtol=1e-4)
    np.testing.assert_allclose(response.logit_signal, logits.var(axis=0), rtol=1e-4)


def unit(activation, kernel, bias):
    """Returns a net of hidden units for images of one pixel; two units are logits."""
    model = keras.Sequential(
        [
            keras.Input((1, 1, 1)),
            keras.layers.Flatten(),
            keras.layers.Dense(len(bias), name="dense"),
            activations.make(activation, "act_dense"),
            keras.layers.Dense(2, name="classifier"),
        ]
    )
    dense = model.get_layer("dense")
    dense.set_weights([np.array([kernel]), np.array(bias)])
    model.get_layer("classifier").set_weights([np.eye(len(bias), 2), np.zeros(2)])
    return model


@pytest.mark.parametrize(
    ("activation", "gain", "saturated"),
    [
        ("relu", (0, 0), 1),
        ("shifted_relu", (0, 0), 1),
        ("elu", (np.exp(-16), np.exp(-12)), 1),
        ("leaky_relu", (0.01, 0.01), 0),
        ("prelu", (0.0625, 0.0625), 0),
        ("linear", (1, 1), 0),
    ],
)
def test_gain_and_saturation_depend_on_the_activation(activation, gain, saturated):
    # The net inputs of two units are about -7; the third unit is active.
    model = unit(activation, [1.0, 0.5, 1.0], [-7.0, -7.0, 9.0])
    response = noise_response(model, PIXELS / 4, sigma=0.05, draws=10)
    layer = response.layers["act_dense"]
    np.testing.assert_array_equal(layer.deactivated.share, [1, 1, 0])
    np.testing.assert_array_equal(layer.saturated, [saturated, saturated, 0])
    low, high = gain
    assert low * 0.999 <= layer.deactivated.noise_gain() <= high * 1.001
    assert low * 0.999 <= layer.deactivated.signal_gain() <= high * 1.001
    if high == 0:
        np.testing.assert_array_equal(layer.every.noise[:2], 0)
        np.testing.assert_array_equal(layer.every.signal[:2], 0)
        assert layer.deactivated_signal() == 0
    assert np.isnan(layer.deactivated.noise[2])


def test_without_deactivated_units_their_gain_is_nan():
    found = noise_response(unit("elu", [1.0], [9.0]), PIXELS, sigma=0.1, draws=2)
    layer = found.layers["act_dense"]
    assert np.isnan(layer.deactivated.noise_gain())
    assert layer.deactivated_signal() == 0


def test_without_noise_all_noise_is_zero():
    found = noise_response(network(), IMAGES, sigma=0, draws=3)
    for layer in found.layers.values():
        for units in (layer.every, layer.deactivated):
            for array in (units.noise, units.net_noise):
                np.testing.assert_array_equal(array, 0)
            assert np.isnan(units.noise_gain())
    assert not found.logit_noise.any()
    assert found.changed == 0 and found.probability_noise < 1e-30  # rounding


def test_the_seed_decides_the_noise():
    def noise_of(seed):
        return noise_response(network(), IMAGES, **{**NOISE, "seed": seed}).logit_noise

    np.testing.assert_array_equal(noise_of(2**70), noise_of(2**70))
    assert (noise_of(0) != noise_of(1)).all()


@pytest.mark.parametrize("convolutions", ["float32", "bfloat16"])
def test_a_network_of_the_zoo_responds_in_any_precision(convolutions):
    model = elu_zoo.get_model(
        "elu_cifar_11",
        width=0.02,
        input_shape=(8, 8, 3),
        conv_dtype=convolutions,
        preprocessing=False,
    )
    images = np.random.default_rng(0).integers(0, 256, (3, 8, 8, 3), "uint8")
    response = noise_response(model, images, sigma=20, draws=2)
    assert len(response.layers) == 10
    for layer in response.layers.values():
        assert (layer.every.noise > 0).all() and (layer.every.net_signal > 0).all()


@pytest.mark.parametrize(
    ("activation", "expected"),
    [
        ("elu", [np.exp(-3), np.exp(-0.5), 1]),
        ({"name": "elu", "alpha": 2.0}, [2 * np.exp(-3), 2 * np.exp(-0.5), 1]),
        ("relu", [0, 0, 1]),
        ("leaky_relu", [0.1, 0.1, 1]),
        ("shifted_relu", [0, 1, 1]),
        ("prelu", [0.25, 0.5, 1]),
        ("rrelu", [11 / 48, 11 / 48, 1]),
        ("tanh", 1 - np.tanh([-3, -0.5, 90]) ** 2),
    ],
)
def test_derivatives_equal_the_formulas(activation, expected):
    layer = activations.make(activation, "act")
    layer(np.zeros((1, 2, 3), "float32"))
    if activation == "prelu":
        layer.set_weights([np.array([0.25, 0.5, 0.75])])
    found = derivative(layer, np.broadcast_to([-3, -0.5, 90], (4, 2, 3)))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, np.broadcast_to(expected, (4, 2, 3)), atol=1e-7)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sigma": np.inf}, "sigma must be finite and >= 0"),
        ({"draws": 1}, "draws must be an integer >= 2"),
        ({"seed": -1}, "seed must be an integer >= 0"),
        ({"images": IMAGES[..., 0]}, r"needs one or more images of shape \(4, 5, 2\)"),
        (
            {
                "model": keras.Sequential(
                    [keras.Input((4, 5, 2)), keras.layers.Flatten()]
                )
            },
            "needs layers whose names begin with act_",
        ),
        (
            {
                "model": elu_zoo.get_model(
                    "mnist_autoencoder", width=0.01, preprocessing=False
                )
            },
            r"Received: mnist_autoencoder with outputs \[\(None, 28, 28, 1\)\]",
        ),
    ],
)
def test_wrong_arguments_raise_an_error(changed, message):
    with pytest.raises(errors.UsageError, match=message):
        noise_response(
            **{"model": unit("elu", [1.0], [0.0]), "images": PIXELS, **NOISE}
            | ({"model": network(), "images": IMAGES} | changed)
        )


def numbers():
    """Returns measures that do not depend on the backend, by name."""
    found = noise_response(network(), IMAGES, **NOISE)
    arrays = {"probability": found.probability_noise, "changed": found.changed}
    for name, layer in found.layers.items():
        arrays |= {f"{name}/{k}": v for k, v in vars(layer.deactivated).items()}
        arrays[f"{name}/saturated"] = layer.saturated
    prelu = activations.make("prelu", "act")
    prelu(np.zeros((1, 3), "float32"))
    return arrays | {"derivative": derivative(prelu, [[-3, -0.5, 90]])}


@pytest.mark.slow
def test_jax_computes_the_same_measures(tmp_path):
    pytest.importorskip("jax")
    file = tmp_path / "found.npz"
    done = subprocess.run(
        [
            sys.executable,
            Path(__file__).parents[2] / "no_tensorflow.py",
            __file__,
            file,
        ],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    with np.load(file) as by_jax:
        for name, array in numbers().items():
            np.testing.assert_allclose(by_jax[name], array, 1e-4, 1e-7, err_msg=name)


if __name__ == "__main__":
    assert keras.backend.backend() == "jax"
    np.savez(sys.argv[1], **numbers())
