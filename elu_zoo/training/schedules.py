"""Learning rates as a pure function of the iteration."""

import numbers
from collections.abc import Sequence

import numpy as np

from elu_zoo import errors


def learning_rates(
    iterations: np.ndarray, boundaries: Sequence[int], values: Sequence[float]
) -> np.ndarray:
    """Returns the piecewise constant learning rate of each iteration.

    ``` python
    values[i]  for  boundaries[i - 1] <= iteration < boundaries[i]
    ```

    Args:
        iterations: counted from 0.
        boundaries: the first iteration of each next value.
        values: one more than boundaries.
    """
    pieces = np.searchsorted(np.asarray(boundaries, np.int64), iterations, "right")
    return np.asarray(values, np.float32)[pieces]


def check(boundaries: Sequence[int], values: Sequence[float], iterations: int) -> None:
    """Checks a schedule against the length of its run.

    Raises:
        UsageError: counts that do not match, boundaries that do not increase or lie
            past the end, rates that are not finite and >= 0.
    """
    for name, entries, kind in (
        ("boundaries", boundaries, numbers.Integral),
        ("learning_rates", values, numbers.Real),
    ):
        if not all(isinstance(x, kind) and not isinstance(x, bool) for x in entries):
            raise errors.UsageError(
                f"train.{name} is a tuple of numbers. Received: {tuple(entries)}."
            )
    if len(values) != len(boundaries) + 1:
        raise errors.UsageError(
            "train.learning_rates has one entry more than train.boundaries. Received: "
            f"{len(values)} and {len(boundaries)}."
        )
    ends = [0, *boundaries, iterations]
    if any(a >= b for a, b in zip(ends, ends[1:], strict=False)):
        raise errors.UsageError(
            "train.boundaries increases, within the run's "
            f"{iterations} iterations. Received: {tuple(boundaries)}."
        )
    if not all(np.isfinite(v) and v >= 0 for v in values):
        raise errors.UsageError(
            f"train.learning_rates are finite and >= 0. Received: {tuple(values)}."
        )
