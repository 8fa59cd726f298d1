"""Checks of the arguments that every builder takes."""

import math
import numbers
from collections.abc import Callable, Iterable
from typing import Any

from elu_zoo import errors


def check_builder_arguments(
    *,
    batch_norm: Any,
    input_shape: Any,
    width: Any,
    seed: Any,
    num_classes: Any = 1,
) -> tuple[int, int, int]:
    """Checks what all builders share and returns `input_shape` as a tuple.

    A builder without classes leaves `num_classes` out.

    Raises:
        UsageError: an argument is out of its range; the message says the range.
    """
    check_bool("batch_norm", batch_norm)
    check_integer("num_classes", num_classes, minimum=1)
    check_integer("seed", seed, minimum=0)
    check_number(
        "width",
        width,
        "multiplies the number of units of every layer: a finite number > 0",
        lambda value: value > 0,
    )
    return check_image_shape(input_shape)


def check_image_shape(input_shape: Any) -> tuple[int, int, int]:
    """Returns `(height, width, channels)` as a tuple of positive integers.

    Raises:
        UsageError: another rank, a size that is not positive, or channels first.
    """
    expected = "input_shape is (height, width, channels), for instance (28, 28, 1)"
    try:
        shape = tuple(input_shape)
    except TypeError:
        shape = ()
    if len(shape) != 3:
        raise errors.UsageError(f"{expected}. Received: {input_shape!r}.")
    for size in shape:
        check_integer("Each entry of input_shape", size, minimum=1)
    if shape[0] in (1, 3) and shape[2] > 4:
        raise errors.UsageError(
            f"{expected}. Received {shape}, which looks like channels first: move "
            f"the first axis to the end, {(*shape[1:], shape[0])}."
        )
    return shape


def scaled_units(units: int, width: float) -> int:
    """Returns the units of a layer in a network of this relative width."""
    return max(1, round(units * width))


def check_number(
    name: str, value: Any, expected: str, fits: Callable[[float], bool]
) -> None:
    """Checks a finite number.

    Args:
        name: of the argument.
        value: what was received for it.
        expected: what it is, for the message: "is finite and > 0".
        fits: whether a finite number is in the range.

    Raises:
        UsageError: it is not.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (number and math.isfinite(value) and fits(value)):
        raise errors.UsageError(f"{name} {expected}. Received: {value!r}.")


def check_bool(name: str, value: Any) -> None:
    """Checks a switch: a word such as "no" would pass for True.

    Raises:
        UsageError: it is neither True nor False.
    """
    if not isinstance(value, bool):
        raise errors.UsageError(f"{name} is True or False. Received: {value!r}.")


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Checks an argument that is one of several words.

    Raises:
        UsageError: it is none of them.
    """
    if value not in tuple(choices):
        raise errors.unknown(name, value, choices)


def check_integer(name: str, value: Any, *, minimum: int) -> None:
    """Checks an integer.

    Raises:
        UsageError: it is none, or below `minimum`.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, numbers.Integral)
        or value < minimum
    ):
        raise errors.UsageError(
            f"{name} is an integer >= {minimum}. Received: {value!r}."
        )
