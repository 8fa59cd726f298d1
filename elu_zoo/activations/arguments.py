"""Checks of the numbers that activations take."""

import numbers

from elu_zoo.errors import UsageError

# Of float32, in which units compute: beyond, a number is infinite there, or 0.
_LEAST, _MOST = 2.0**-126, 2.0**128


def positive(name: str, value: object) -> float:
    """Returns `value` as a float, or raises unless it is finite and > 0."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not (number and _LEAST <= _plain(value) < _MOST):
        raise UsageError(
            f"{name} must be a finite number > 0. Received: {name}={value!r}"
        )
    return float(value)


def _plain(value: object) -> object:
    """Returns Python's own number of one of NumPy's, whose comparisons overflow."""
    return value.item() if hasattr(value, "item") else value
