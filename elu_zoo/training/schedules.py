"""Learning rates as a pure function of the iteration, and boundaries of schedules."""

import itertools
import numbers
from collections.abc import Sequence

import numpy as np
from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.data import load
from elu_zoo.training.fields import get


def learning_rates(iterations: np.ndarray, train: ConfigDict, end: int) -> np.ndarray:
    """Returns the learning rate of each iteration of a run of `end` iterations.

    ``` python
    values[i]  for  boundaries[i - 1] <= iteration < boundaries[i]     # steps
    values[i]  at   (0, *boundaries, end)[i], linear in between        # linear
    values[i]  at   (0, *boundaries, end)[i], log-linear in between    # exponential
    ```

    Boundaries are iterations, or fractions of the run. During the warm-up, a fraction of
    the run too, a factor that grows linearly to 1 multiplies the rates.
    """
    values, boundaries = train.learning_rates, in_iterations(train.boundaries, end)
    points = [0, *boundaries, end]
    if train.learning_rate_shape == "linear":
        rates = np.interp(iterations, points, values)
    elif train.learning_rate_shape == "exponential":
        rates = np.exp(np.interp(iterations, points, np.log(values)))
    else:
        pieces = np.searchsorted(np.asarray(boundaries, np.int64), iterations, "right")
        rates = np.asarray(values, np.float32)[pieces]
    if train.warmup:
        rates = rates * np.minimum(1, (iterations + 1) / (train.warmup * end))
    return rates.astype(np.float32)


def check_learning_rates(
    boundaries: Sequence[int | float], values: Sequence[float], shape: str
) -> None:
    """Checks that learning rates fit their boundaries and shape."""
    _check_numbers("train.boundaries", boundaries)
    _check_numbers("train.learning_rates", values)
    more, words = (1, "one entry") if shape == "steps" else (2, "two entries")
    if len(values) != len(boundaries) + more:
        raise errors.UsageError(
            f"train.learning_rates must have {words} more than train.boundaries. "
            f"Received: {len(values)} and {len(boundaries)}."
        )
    if not np.isfinite(values).all() or min(values) < 0 or (shape == "exponential" and 0 in values):
        raise errors.UsageError(
            "train.learning_rates must be finite and >= 0, and > 0 for the shape exponential. "
            f"Received: {tuple(values)}."
        )


def check_boundaries(name: str, boundaries: Sequence[int | float], iterations: int) -> None:
    """Checks that boundaries increase within a run."""
    _check_numbers(name, boundaries)
    shares = [b for b in boundaries if not isinstance(b, numbers.Integral)]
    if not all(0 < share < 1 for share in shares):
        raise errors.UsageError(
            f"{name} must be whole numbers of iterations, or fractions of the run "
            f"between 0 and 1. Received: {tuple(boundaries)}."
        )
    at = in_iterations(boundaries, iterations)
    if any(a >= b for a, b in itertools.pairwise([0, *at, iterations])):
        received = f"{tuple(boundaries)}" + f", in iterations {tuple(at)}" * bool(shares)
        raise errors.UsageError(
            f"{name} must increase, between 0 and the run's {iterations} iterations. "
            f"Received: {received}. Set rising fractions of the run, such as 0.5, or increase "
            "train.epochs."
        )


def in_iterations(boundaries: Sequence[int | float], end: int) -> list[int]:
    """Returns boundaries in iterations. A fraction becomes iteration 1 or later."""
    integer = numbers.Integral
    return [b if isinstance(b, integer) else max(1, round(b * end)) for b in boundaries]


def use_shares(config: ConfigDict, usual: ConfigDict | None = None) -> None:
    """Replaces boundaries in iterations by shares of the run, which fit any length.

    With `usual`, these are shares of its run, and boundaries that differ from its own stay. All
    stay if the number of images is unknown, and those after the end.
    """
    train = config.train
    if config.data.name not in load.names():
        return
    with config.unlocked():
        for key in [key for key in ("boundaries", "phase_boundaries") if key in train]:
            of = usual or config
            if of.train.get(key) != train[key]:
                continue
            on_validation = get(of, "data.train_on_validation")
            images = load.training_images(config.data.name, on_validation)
            examples = get(of, "data.train_examples") or images
            total = examples // max(1, of.train.batch_size) * of.train.epochs
            train[key] = tuple(
                b / total if isinstance(b, numbers.Integral) and b < total else b
                for b in train[key]
            )


def _check_numbers(name: str, entries: Sequence) -> None:
    if not all(isinstance(x, numbers.Real) and not isinstance(x, bool) for x in entries):
        raise errors.UsageError(f"{name} must be a tuple of numbers. Received: {tuple(entries)}.")
