"""How noise on the images passes through the units of a network.

The paper says that ELUs have a noise-robust deactivation state, which leaky rectifiers
lack, and that their saturation decreases the variation that is propagated forward
(abstract, sections 1 and 3). These are the numbers that can be held against it.
"""

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator

import keras
import numpy as np

from elu_zoo import errors
from elu_zoo.errors import check_integer, check_number
from elu_zoo.training.activation_statistics import (
    activation_layers,
    check_images,
    forward,
    parts,
    values,
)

_PART_VALUES = 2**22  # activations of a part; about 100 bytes each
_STEP = 1e-6  # of central differences
_SATURATED = 0.1 - 1e-6  # without the leaky rectifier's slope, which is 0.1


@dataclasses.dataclass(frozen=True, eq=False)
class Units:
    """The units of a layer, over the images in which they are in one state.

    Arrays are float64 `(units,)`, and a mean or a variance over no images is NaN. A
    convolution's unit is a channel, its images are those at every position.

    Attributes:
        share: of all images, those in which the unit is in this state.
        noise: variance over the draws of the unit's output, a mean over images.
        net_noise: likewise of its input, the net input of the paper.
        signal: variance of the output over images without noise.
        net_signal: likewise of the input.
        relative_noise: `noise` by the unit's `signal` over all images, whatever the
            state: noise to signal; NaN or infinite where that is 0.
    """

    share: np.ndarray
    noise: np.ndarray
    net_noise: np.ndarray
    signal: np.ndarray
    net_signal: np.ndarray
    relative_noise: np.ndarray

    def noise_gain(self) -> float:
        """Returns the noise of all outputs by that of all inputs; NaN without any."""
        return _ratio(self.share * self.noise, self.share * self.net_noise)

    def signal_gain(self) -> float:
        """Returns the signal of all outputs by that of all inputs; NaN without any."""
        return _ratio(self.share * self.signal, self.share * self.net_signal)


@dataclasses.dataclass(frozen=True, eq=False)
class LayerResponse:
    """The response of an activation layer.

    Attributes:
        every: its units in any state.
        deactivated: where their input is negative, without noise.
        active: where it is not.
        saturated: float64 `(units,)`, the share of images in which the activation's
            derivative at the unit's input is within +-0.1, the slope 0.1 of a leaky
            rectifier excluded.
    """

    every: Units
    deactivated: Units
    active: Units
    saturated: np.ndarray

    def relative_noise(self) -> float:
        """Returns the noise of all units by their signal; NaN without any."""
        return _ratio(self.every.noise, self.every.signal)

    def deactivated_signal(self) -> float:
        """Returns the share of the signal that is variation among deactivated values.

        Of the variance of a unit's output over images this is the part within the
        deactivated state; the rest is within the active state and between the two. It
        is 0 where the output does not say how far away from active a unit is.
        """
        within = self.deactivated.share * self.deactivated.signal
        return _ratio(within, self.every.signal)


@dataclasses.dataclass(frozen=True, eq=False)
class NoiseResponse:
    """The response of a network.

    Attributes:
        layers: by the activation layer's name, in the network's order.
        logit_noise: variance of each logit over the draws, a mean over images,
            float64 `(classes,)`.
        logit_signal: its variance over images without noise.
        probability_noise: variance of the softmax over the draws, summed over
            classes, a mean over images.
        changed: share of images whose class of the largest logit is another one
            than without noise, a mean over draws.
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

    An image gets the same noise in every network and however many images there are:
    responses of several networks are paired.

    Args:
        model: from images to logits `(batch, classes)`; its activation layers are
            named `act_...`, as in every network of the zoo.
        images: as the model takes them, `(n, height, width, channels)`.
        sigma: standard deviation of the noise, in the unit of the images; what leaves
            their range is not clipped.
        draws: of the noise for each image, at least 2. Variances over them are
            unbiased.
        seed: of the noise.

    Raises:
        UsageError: the model has no activation layers or no logits, it does not take
            the images, or a number is out of its range.
    """
    _check(model, images, sigma, draws, seed)
    layers = activation_layers(model)
    tensors = [x for layer in layers for x in (layer.input, layer.output)]
    compute = forward(model, [*tensors, model.outputs[0]])
    sums = [_Sums(layer) for layer in layers]
    of_images = []  # logits, their variances, variance of probabilities, changed
    for start, part in parts(images, _PART_VALUES // sum(map(values, layers))):
        clean = compute(part)
        noisy = map(compute, _noisy(part, start, sigma, draws, seed))
        noise, *of_classes = _over_draws(noisy, clean[-1])
        for i, total in enumerate(sums):
            total.add(*clean[2 * i : 2 * i + 2], *noise[2 * i : 2 * i + 2])
        of_images.append((clean[-1], noise[-1], *of_classes))
    logits, logit_noise, *of_classes = map(np.concatenate, zip(*of_images, strict=True))
    return NoiseResponse(
        {total.name: total.response() for total in sums},
        logit_noise.mean(axis=0),
        logits.var(axis=0, dtype="float64"),
        *(float(array.mean()) for array in of_classes),
    )


def _check(model, images, sigma, draws, seed) -> None:
    check_number("sigma", sigma, "is finite and >= 0", lambda value: value >= 0)
    check_integer("draws", draws, minimum=2)
    check_integer("seed", seed, minimum=0)
    shapes = [tuple(output.shape) for output in model.outputs]
    if [len(shape) for shape in shapes] != [2]:
        raise errors.UsageError(
            "noise_response takes a model whose output is logits (batch, classes). "
            f"Received: {model.name} with outputs {shapes}."
        )
    check_images(model, images)


def _noisy(
    part: np.ndarray, start: int, sigma: float, draws: int, seed: int
) -> Iterator[np.ndarray]:
    """Yields images with noise; `start` is the number of the first."""
    generators = [
        np.random.Generator(np.random.Philox([seed, start + i]))
        for i in range(len(part))
    ]
    for _ in range(draws):
        noise = [g.standard_normal(part.shape[1:], "float32") for g in generators]
        yield part + np.float32(sigma) * np.stack(noise)


def _over_draws(
    noisy: Iterable[list[np.ndarray]], clean_logits: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Returns the variances of arrays, the last of them logits, and of classes.

    Of classes it is, for each image, the variance of the probabilities, summed, and
    the share of draws in which the largest logit is another one.
    """
    variances, of_probabilities, changed = [], _Variance(), []
    for arrays in noisy:
        variances = variances or [_Variance() for _ in arrays]
        for variance, array in zip(variances, arrays, strict=True):
            variance.add(array)
        of_probabilities.add(_softmax(arrays[-1]))
        changed.append(arrays[-1].argmax(axis=1) != clean_logits.argmax(axis=1))
    probability_noise = of_probabilities.value().sum(axis=1)
    return [v.value() for v in variances], probability_noise, np.mean(changed, axis=0)


def derivative(layer: keras.Layer, net: np.ndarray) -> np.ndarray:
    """Returns an activation layer's derivative, by central differences in float64.

    Args:
        layer: its output at a place depends on its input at that place alone.
        net: what it is given, `(batch, ..., units)`.
    """
    net = np.asarray(net, "float64")
    with _float64():
        # Called as a layer it would compute in its own precision.
        high, low = (
            np.asarray(layer.call(keras.ops.convert_to_tensor(x, "float64")))
            for x in (net + _STEP, net - _STEP)
        )
    return (high - low) / (2 * _STEP)


class _Sums:
    """Sums over images and positions, for each unit of a layer."""

    def __init__(self, layer: keras.Layer):
        self.name = layer.name
        self._layer = layer
        units = layer.output.shape[-1]
        self._states = np.zeros((2, 7, units))  # deactivated and active
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
        terms = 1, noise, net_noise, output, output**2, net, net**2
        for state, mask in zip(self._states, (deactivated, ~deactivated), strict=True):
            for total, term in zip(state, terms, strict=True):
                total += (mask * term).sum(axis=0)

    def response(self) -> LayerResponse:
        every = self._states.sum(axis=0)
        units = [_units(sums, every) for sums in (every, *self._states)]
        return LayerResponse(*units, self._saturated / every[0])


class _Variance:
    """The variance of arrays that come one by one (Welford, 1962)."""

    def __init__(self):
        self._count, self._mean, self._squares = 0, 0.0, 0.0

    def add(self, array: np.ndarray) -> None:
        self._count += 1
        difference = array.astype("float64") - self._mean
        self._mean = self._mean + difference / self._count
        self._squares = self._squares + difference * (array - self._mean)

    def value(self) -> np.ndarray:
        return self._squares / (self._count - 1)


def _units(sums: np.ndarray, every: np.ndarray) -> Units:
    with np.errstate(divide="ignore", invalid="ignore"):
        noise, net_noise, *_ = sums[1:] / sums[0]
        signal, net_signal = _variances(sums)
        relative = noise / _variances(every)[0]
    share = sums[0] / every[0]
    return Units(share, noise, net_noise, signal, net_signal, relative)


def _variances(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns those of output and input, from the sums of their powers."""
    output, output2, net, net2 = sums[3:] / sums[0]
    # Rounding may leave less than nothing of a constant.
    return np.maximum(output2 - output**2, 0), np.maximum(net2 - net**2, 0)


def _ratio(numerators: np.ndarray, denominators: np.ndarray) -> float:
    """Returns the ratio of two sums, without the units of which one is NaN."""
    total = np.nansum(denominators)
    return float(np.nansum(numerators) / total) if total else float("nan")


def _softmax(logits: np.ndarray) -> np.ndarray:
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True), dtype="float64")
    return exponentials / exponentials.sum(axis=1, keepdims=True)


@contextlib.contextmanager
def _float64() -> Iterator[None]:
    """Lets JAX have float64, which it lacks by default."""
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
