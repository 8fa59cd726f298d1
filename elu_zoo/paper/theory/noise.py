"""Response of a network's units to noise on the images.

The paper says that ELUs have a noise-robust deactivation state, which leaky rectifiers
lack. The paper also says that the saturation of ELUs decreases the variation that is
propagated to the next layer (abstract, sections 1 and 3). These measures test both.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

import keras
import numpy as np

from elu_zoo import errors
from elu_zoo.errors import check_integer, check_non_negative
from elu_zoo.training.activation_statistics import (
    activation_layers,
    check_images,
    forward,
    parts,
    values,
)

_PART_VALUES = 2**24  # activations of all draws of a batch, which limits memory
_STEP = 1e-6  # step of central differences
_SATURATED = 0.1 - 1e-6  # excludes the leaky rectifier, whose slope is 0.1


@dataclasses.dataclass(frozen=True, eq=False)
class Units:
    """Measures of a layer's units over the images in which a unit is in one state.

    The states are "any" and "deactivated". All arrays are float64 `(units,)`. A mean or
    variance over no images is NaN. A unit of a convolution is a channel, and each
    position of an image counts as an image.

    Attributes:
        share: fraction of the images in which the unit is in this state.
        noise: variance of the unit's output over noise draws, mean over images.
        net_noise: variance of the unit's net input over noise draws, mean over images.
        signal: variance of the unit's output over images without noise.
        net_signal: variance of the unit's net input over images without noise.
    """

    share: np.ndarray
    noise: np.ndarray
    net_noise: np.ndarray
    signal: np.ndarray
    net_signal: np.ndarray

    def noise_gain(self) -> float:
        """Returns the noise of all outputs divided by the noise of all net inputs."""
        return _ratio(self.share * self.noise, self.share * self.net_noise)

    def signal_gain(self) -> float:
        """Returns the signal of all outputs divided by the signal of all net inputs."""
        return _ratio(self.share * self.signal, self.share * self.net_signal)


@dataclasses.dataclass(frozen=True, eq=False)
class LayerResponse:
    """Response of an activation layer to noise.

    Attributes:
        every: measures of the units over all images.
        deactivated: measures over the images in which the unit's net input without
            noise is negative.
        saturated: float64 `(units,)`, fraction of the images in which the activation's
            derivative at the net input is between -0.1 and 0.1, exclusive. The slope of
            leaky ReLU, 0.1, is not saturated.
    """

    every: Units
    deactivated: Units
    saturated: np.ndarray

    def relative_noise(self) -> float:
        """Returns the noise of all units divided by the signal of all units."""
        return _ratio(self.every.noise, self.every.signal)

    def deactivated_signal(self) -> float:
        """Returns the fraction of the signal that is variance of deactivated values.

        A unit's remaining variance is within the active state and between the two
        states. The fraction is 0 if all deactivated outputs are equal.
        """
        within = self.deactivated.share * self.deactivated.signal
        return _ratio(within, self.every.signal)


@dataclasses.dataclass(frozen=True, eq=False)
class NoiseResponse:
    """Response of a network to noise.

    Attributes:
        layers: responses by name of the activation layer, in the network's order.
        logit_noise: variance of each logit over noise draws, mean over images,
            float64 `(classes,)`.
        logit_signal: variance of each logit over images without noise.
        probability_noise: variance of the softmax over noise draws, sum over classes,
            mean over images.
        changed: fraction of images whose predicted class changes, mean over draws.
    """

    layers: dict[str, LayerResponse]
    logit_noise: np.ndarray
    logit_signal: np.ndarray
    probability_noise: float
    changed: float


def noise_response(
    model: keras.Model, images: np.ndarray, *, sigma: float, draws: int, seed: int = 0
) -> NoiseResponse:
    """Measures how Gaussian noise on images passes through a network.

    The noise of an image depends only on the seed and the image's number, so that all
    networks receive the same noise and their responses can be compared in pairs.

    Args:
        model: model from images to logits `(batch, classes)`, whose activation layers
            are named `act_...`, as in every network of the zoo.
        images: `(n, height, width, channels)`, as the model takes images.
        sigma: standard deviation of the noise, >= 0, in the unit of the images. Noisy
            images are not clipped.
        draws: number of noise draws for each image, >= 2. Variances over draws are
            unbiased.
        seed: seed of the noise, >= 0.
    """
    _check(model, images, sigma, draws, seed)
    layers = activation_layers(model)
    tensors = [x for layer in layers for x in (layer.input, layer.output)]
    compute = forward(model, [*tensors, model.outputs[0]])
    sums = [_Sums(layer) for layer in layers]
    of_images = []  # logits, logit noise, probability noise, changed classes
    count = draws * sum(map(values, layers))
    for start, part in parts(images, _PART_VALUES // count):
        clean = compute(part)
        noisy = [compute(x) for x in _noisy_images(part, start, sigma, draws, seed)]
        noise = [_variance(arrays) for arrays in zip(*noisy, strict=True)]
        for i, total in enumerate(sums):
            total.add(*clean[2 * i : 2 * i + 2], *noise[2 * i : 2 * i + 2])
        probability_noise = _variance([_softmax(x[-1]) for x in noisy]).sum(axis=1)
        classes = np.stack([x[-1].argmax(axis=1) for x in noisy])
        changed = (classes != clean[-1].argmax(axis=1)).mean(axis=0)
        of_images.append((clean[-1], noise[-1], probability_noise, changed))
    logits, logit_noise, *of_classes = map(np.concatenate, zip(*of_images, strict=True))
    return NoiseResponse(
        {total.name: total.response() for total in sums},
        logit_noise.mean(axis=0),
        logits.var(axis=0, dtype="float64"),
        *(float(array.mean()) for array in of_classes),
    )


def _check(model, images, sigma, draws, seed) -> None:
    check_non_negative("sigma", sigma)
    check_integer("draws", draws, minimum=2)
    check_integer("seed", seed, minimum=0)
    shapes = [tuple(output.shape) for output in model.outputs]
    if [len(shape) for shape in shapes] != [2]:
        raise errors.UsageError(
            "The model must have one output, the logits (batch, classes). "
            f"Received: {model.name} with outputs {shapes}."
        )
    check_images(model, images)


def _noisy_images(
    part: np.ndarray, start: int, sigma: float, draws: int, seed: int
) -> Iterator[np.ndarray]:
    """Yields `part` with noise for each draw; `start` is the first image's number."""
    generators = [
        np.random.Generator(np.random.Philox([seed, start + i]))
        for i in range(len(part))
    ]
    for _ in range(draws):
        noise = [g.standard_normal(part.shape[1:], "float32") for g in generators]
        yield part + np.float32(sigma) * np.stack(noise)


def derivative(layer: keras.Layer, net: np.ndarray) -> np.ndarray:
    """Returns an activation layer's derivative, by central differences in float64.

    Args:
        layer: an elementwise layer.
        net: input of the layer, `(batch, ..., units)`.

    Returns:
        float64, in the shape of `net`.
    """
    net = np.asarray(net, "float64")
    with _float64():
        # `layer(x)` would cast the input to the precision of the layer.
        high, low = (
            np.asarray(layer.call(keras.ops.convert_to_tensor(x, "float64")))
            for x in (net + _STEP, net - _STEP)
        )
    return (high - low) / (2 * _STEP)


class _Sums:
    """Running sums over images and positions, for each unit of a layer."""

    def __init__(self, layer: keras.Layer):
        self.name = layer.name
        self._layer = layer
        units = layer.output.shape[-1]
        self._states = np.zeros((2, 7, units))  # 7 sums of deactivated and of active
        self._saturated = np.zeros(units)

    def add(self, net, output, net_noise, noise) -> None:
        saturated = np.abs(derivative(self._layer, net)) < _SATURATED
        units = net.shape[-1]
        self._saturated += saturated.reshape(-1, units).sum(axis=0)
        net, output, net_noise, noise = (
            array.reshape(-1, units).astype("float64")
            for array in (net, output, net_noise, noise)
        )
        deactivated = net < 0
        summands = 1, noise, net_noise, output, output**2, net, net**2
        for state, mask in zip(self._states, (deactivated, ~deactivated), strict=True):
            for total, summand in zip(state, summands, strict=True):
                total += (mask * summand).sum(axis=0)

    def response(self) -> LayerResponse:
        every = self._states.sum(axis=0)
        units = [_units(sums, every) for sums in (every, self._states[0])]
        return LayerResponse(*units, self._saturated / every[0])


def _units(sums: np.ndarray, every: np.ndarray) -> Units:
    with np.errstate(divide="ignore", invalid="ignore"):
        noise, net_noise, *_ = sums[1:] / sums[0]
        signal, net_signal = _variances(sums)
    share = sums[0] / every[0]
    return Units(share, noise, net_noise, signal, net_signal)


def _variances(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the variances of output and net input from sums of x and of x**2."""
    output, output2, net, net2 = sums[3:] / sums[0]
    # By rounding errors the variance of a constant may be negative.
    return np.maximum(output2 - output**2, 0), np.maximum(net2 - net**2, 0)


def _variance(draws: Sequence[np.ndarray]) -> np.ndarray:
    """Returns the unbiased variance over draws, for each element of the arrays."""
    return np.var(draws, axis=0, ddof=1, dtype="float64")


def _ratio(numerators: np.ndarray, denominators: np.ndarray) -> float:
    """Returns the ratio of two sums without NaN values; NaN if the second sum is 0."""
    total = np.nansum(denominators)
    return float(np.nansum(numerators) / total) if total else float("nan")


def _softmax(logits: np.ndarray) -> np.ndarray:
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True), dtype="float64")
    return exponentials / exponentials.sum(axis=1, keepdims=True)


@contextlib.contextmanager
def _float64() -> Iterator[None]:
    """Enables float64 in JAX, which disables float64 by default."""
    if keras.backend.backend() != "jax":
        yield
        return
    import jax

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)
