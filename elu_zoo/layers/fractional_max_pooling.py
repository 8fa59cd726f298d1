"""Max pooling by a factor between 1 and 2."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from elu_zoo import errors
from elu_zoo.layers import dropout, merging

REGIONS = ("pseudorandom", "random")


@keras.saving.register_keras_serializable("elu_zoo")
class FractionalMaxPooling2D(keras.layers.Layer):
    """Fractional max pooling with overlapping regions (Graham, 2014).

    Each output is the maximum of a region of 2 x 2 cells. Along an axis of n cells, the
    first of m regions starts at cell 0 and the last one ends with the last cell.
    Adjacent regions start 1 or 2 cells apart. In training the starts are drawn:

    - "pseudorandom": region j starts at `int((j + u) * a) - int(u * a)`, where
      `a = (n - 2) / (m - 1)` and u is uniform in [0, 1);
    - "random": the distances between these starts for u = 0.5 are shuffled.

    Rows and columns are drawn separately, once for the whole batch; Graham's code draws
    for each image. Within `elu_zoo.layers.keyed` the draws depend only on the layer's
    seed and the iteration. At inference both kinds use the regions for u = 0.5.

    Args:
        size: `(height, width)` of the output.
        regions: "pseudorandom" or "random".
        seed: seed of the draws.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input shape: `(batch, height, width, channels)`. Height and width must be fixed, and
    m - 1 <= n - 2 <= 2 * (m - 1) must hold for both.

    Output shape: `(batch, *size, channels)`.

    Raises:
        UsageError: an argument is out of range, the map does not fit, or `keyed` lacks a seed.
    """

    keyed = True

    def __init__(
        self,
        size: Sequence[int],
        regions: str = "pseudorandom",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        errors.check_numbers("size", size, 2, "integers >= 1", lambda n: type(n) is int and n > 0)
        errors.check_choice("regions", regions, REGIONS)
        self.size = tuple(size)
        self.regions = regions
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.built = True

    def call(self, inputs: Any, training: bool = False) -> Any:
        _check_map(inputs.shape, self.size)
        sides = list(zip(inputs.shape[1:3], self.size, strict=True))
        if training:
            # "random" needs a draw for each distance, "pseudorandom" one draw.
            counts = [m - 1 if self.regions == "random" else 1 for _, m in sides]
            draws = dropout.batch_draws(self, sum(counts))
            parts = draws[: counts[0]], draws[counts[0] :]
            draw = shuffled_starts if self.regions == "random" else phased_starts
            starts = [draw(*side, u) for side, u in zip(sides, parts, strict=True)]
        else:
            starts = [even_starts(*side) for side in sides]
        x = inputs
        for axis, start in zip((1, 2), starts, strict=True):
            first = keras.ops.take(x, start, axis=axis)
            x = merging.larger(first, keras.ops.take(x, start + 1, axis=axis))
        return x

    def compute_output_shape(self, input_shape: Any) -> tuple[Any, ...]:
        _check_map(input_shape, self.size)
        return (input_shape[0], *self.size, input_shape[-1])

    def get_config(self) -> dict[str, Any]:
        own = {"size": list(self.size), "regions": self.regions, "seed": self.seed}
        return {**super().get_config(), **own}


def even_starts(inputs: int, outputs: int) -> np.ndarray:
    """Returns the first cell of each region at u = 0.5, int32 `(outputs,)`."""
    return _starts(inputs, outputs, (inputs - 2) // 2)


def phased_starts(inputs: int, outputs: int, draws: Any) -> Any:
    """Returns the first cell of each pseudorandom region; `draws` is the number u, `(1,)`."""
    phase = keras.ops.cast(draws[0] * (inputs - 2), "int32")
    return _starts(inputs, outputs, phase)


def shuffled_starts(inputs: int, outputs: int, draws: Any) -> Any:
    """Returns the first cell of each random region.

    The sorting order of the `outputs - 1` draws shuffles the distances.
    """
    even = even_starts(inputs, outputs)
    if outputs == 1:
        return even
    steps = keras.ops.take(np.diff(even), keras.ops.argsort(draws))
    return keras.ops.concatenate([np.zeros(1, "int32"), keras.ops.cumsum(steps)])


def _starts(inputs, outputs, phase):
    """Returns int((j + u) * a) - int(u * a) for each region j.

    Integer arithmetic avoids rounding errors: with a = span / gaps and
    phase = int(u * span), int((j + u) * a) is (j * span + phase) // gaps.
    """
    span, gaps = inputs - 2, max(outputs - 1, 1)
    return (np.arange(outputs, dtype="int32") * span + phase) // gaps - phase // gaps


def _check_map(shape, size):
    shape = tuple(shape)
    fixed = len(shape) == 4 and None not in shape[1:3]
    if not fixed or not all(
        m - 1 <= n - 2 <= 2 * (m - 1) for n, m in zip(shape[1:3], size, strict=True)
    ):
        least, most = (tuple(k * m + 2 - k for m in size) for k in (1, 2))
        raise errors.UsageError(
            f"Fractional max pooling to {size} needs a map (batch, height, width, channels) with "
            f"fixed height and width, at least {least} and at most {most}. Received: {shape}."
        )
