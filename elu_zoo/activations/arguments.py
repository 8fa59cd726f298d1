"""Checks of the numbers that activations take."""

import numbers
import sys

from elu_zoo.errors import UsageError


def positive(name: str, value: object) -> float:
    """Returns `value` as a float, or raises unless it is finite and > 0."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not (number and 0 < value <= sys.float_info.max):
        raise UsageError(
            f"{name} must be a finite number > 0. Received: {name}={value!r}"
        )
    return float(value)
