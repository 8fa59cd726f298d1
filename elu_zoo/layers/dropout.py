"""Dropout of values and of feature maps, with reproducible masks."""

import contextlib
import contextvars
import math
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from elu_zoo import errors

_keys: contextvars.ContextVar = contextvars.ContextVar("elu_zoo_dropout_keys", default=None)
# Multipliers of the 32-bit hash "lowbias32" of C. Wellons.
_FIRST, _SECOND = np.uint32(0x7FEB352D), np.uint32(0x846CA68B)


@contextlib.contextmanager
def keyed(iteration: Any, examples: Any) -> Iterator[None]:
    """Makes the draws of `Dropout` and other layers reproducible in this context.

    A dropout mask then depends only on the layer's seed, the iteration, the example and
    the unit. The mask is equal on every backend and for any number of devices, and a
    resumed run needs no saved random state. Under a distribution strategy, enter the
    context inside the replica function, because it does not reach other threads.

    Args:
        iteration: number of the training step, an integer scalar.
        examples: index of each example in the data set, integers `(batch,)`.
    """
    token = _keys.set((iteration, examples))
    try:
        yield
    finally:
        _keys.reset(token)


def is_keyed(layer: keras.layers.Layer) -> bool:
    """Whether the draws of a layer depend on `keyed`."""
    return getattr(layer, "keyed", False)


@keras.saving.register_keras_serializable("elu_zoo")
class Dropout(keras.layers.Layer):
    """Dropout (Srivastava et al., 2014) with reproducible masks.

    In training each value becomes 0 with probability `rate`, and the other values are
    divided by 1 - `rate`. At inference the layer returns its input. Unlike in
    `keras.layers.Dropout`, the mask is a hash within `keyed`, and `rate` can be
    changed, even from 0, before the layer is traced again.

    Args:
        rate: in [0, 1).
        seed: seed of the masks; required within `keyed`, and so by elu_zoo's training.
        scaled: whether kept values are divided by 1 - `rate`. Defaults to `True`.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input shape: any. Output shape: the shape of the input.

    Raises:
        UsageError: the rate is not a number in [0, 1), or training within `keyed` lacks a seed.
    """

    keyed = True

    def __init__(
        self, rate: float, seed: int | None = None, scaled: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.rate = check_rate(rate)
        self.seed = seed
        self.scaled = scaled
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True
        self.built = True

    def call(self, inputs: Any, training: bool = False) -> Any:
        if not training or self.rate == 0:
            return inputs
        keys = _keys.get()
        if keys is None:
            y = keras.random.dropout(inputs, self.rate, seed=self.seed_generator)
            return y if self.scaled else y * (1 - self.rate)
        kept = kept_values(seed_of(self), *keys, inputs.shape[1:], self.rate)
        # In half precision the factor 1 / (1 - rate) would be wrong by up to 0.4 %.
        kept = keras.ops.cast(kept, self.variable_dtype)
        y = keras.ops.cast(inputs, self.variable_dtype)
        y = y * (kept / (1 - self.rate) if self.scaled else kept)
        return keras.ops.cast(y, inputs.dtype)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        own = {"rate": self.rate, "seed": self.seed, "scaled": self.scaled}
        return {**super().get_config(), **own}


@keras.saving.register_keras_serializable("elu_zoo")
class FeatureMapDropout(keras.layers.Layer):
    """Dropout of feature maps as in fractional max pooling (Graham, 2014).

    In training, exactly `round(channels * (1 - rate))` maps, but at least one, are kept without
    scaling, and the other maps become 0. The same maps are kept for the whole batch. At inference,
    every value is multiplied by 1 - rate. In contrast, `keras.layers.SpatialDropout2D` draws maps
    for each image and scales in training. Graham's code multiplies before the activation, which is
    equivalent for leaky ReLU but not for ELU.

    Within `elu_zoo.layers.keyed` the kept maps depend only on the layer's seed and the
    iteration. `rate` can be changed, even from 0, before the layer is traced again.

    Args:
        rate: in [0, 1).
        seed: seed of the draws.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input shape: `(..., channels)`. Output shape: the shape of the input.

    Raises:
        UsageError: the rate is not a number in [0, 1), or training within `keyed` lacks a seed.
    """

    keyed = True

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = check_rate(rate)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True
        self.built = True

    def call(self, inputs: Any, training: bool = False) -> Any:
        if self.rate == 0:
            return inputs
        if not training:
            return inputs * (1 - self.rate)
        channels = inputs.shape[-1]
        order = keras.ops.argsort(batch_draws(self, channels))
        ranks = keras.ops.argsort(order)
        kept = ranks < max(round(channels * (1 - self.rate)), 1)
        return inputs * keras.ops.cast(kept, inputs.dtype)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate, "seed": self.seed}


def is_rate(value: Any) -> bool:
    """Returns whether a value is a number in [0, 1)."""
    return errors.is_finite(value) and errors.FRACTION[1](value)


def check_rate(rate: Any) -> float:
    """Returns a dropout rate as a float."""
    errors.check_number("A dropout rate", rate, errors.FRACTION)
    return float(rate)


def kept_values(
    seed: int, iteration: Any, examples: Any, shape: tuple[int, ...], rate: float
) -> Any:
    """Returns whether `Dropout` keeps each value, booleans `(batch, *shape)`."""
    units = math.prod(shape)
    examples = keras.ops.cast(examples, "uint32")
    example_hash = _mix(_mix(_hash_step(seed, iteration)) ^ examples)
    unit_hash = _hash_units(units)
    # Both operands are hashes, so that two of the steps of `_mix` are enough.
    bits = (example_hash[:, None] ^ unit_hash[None, :]) * _FIRST
    bits = (bits ^ keras.ops.right_shift(bits, np.uint32(15))) * _SECOND
    kept = bits >= np.uint32(min(round(rate * 2**32), 2**32 - 1))
    return keras.ops.reshape(kept, (-1, *shape))


def batch_draws(layer: Any, count: int) -> Any:
    """Returns `count` uniform numbers in [0, 1) for a whole batch, in float32.

    Within `keyed` a number is a hash of the layer's seed, the iteration and the index
    of the number, so that all replicas get the same numbers. Elsewhere the layer's
    `seed_generator` draws the numbers.
    """
    keys = _keys.get()
    if keys is None:
        return keras.random.uniform((count,), dtype="float32", seed=layer.seed_generator)
    iteration, _ = keys
    bits = _mix(_mix(_hash_step(seed_of(layer), iteration)) ^ _hash_units(count))
    # float32 represents 24 bits exactly. More bits could be rounded to 1.
    leading = keras.ops.right_shift(bits, np.uint32(8))
    return keras.ops.cast(keras.ops.cast(leading, "int32"), "float32") * 2.0**-24


def seed_of(layer: Any) -> int:
    """Returns the seed of a layer; raises `UsageError` if it has none."""
    if layer.seed is None:
        raise errors.UsageError(
            f"The layer {layer.name} needs a seed, on which its draws depend in "
            "training. Pass seed=layer_seed(seed, name), from elu_zoo.initializers, "
            "with the network's seed and the layer's name."
        )
    return layer.seed


def _hash_step(seed, iteration):
    iteration = keras.ops.cast(iteration, "uint32")
    return _mix(_mix(keras.ops.convert_to_tensor(seed, "uint32")) ^ iteration)


def _hash_units(count):
    with np.errstate(over="ignore"):
        return _mix(np.arange(count, dtype="uint32") + np.uint32(0x9E3779B9))


def _mix(x):
    shift = np.right_shift if isinstance(x, np.ndarray) else keras.ops.right_shift
    x = (x ^ shift(x, np.uint32(16))) * _FIRST
    x = (x ^ shift(x, np.uint32(15))) * _SECOND
    return x ^ shift(x, np.uint32(16))
