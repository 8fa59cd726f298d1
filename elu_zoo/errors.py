"""The errors of elu_zoo, and the checks of single arguments that raise them.

A message says what is wrong, what was expected, what came, and what to do. The
binaries print it in one line and leave with `exit_code`.
"""

import difflib
import math
import numbers
import re
from collections.abc import Callable, Iterable
from typing import Any


class EluZooError(Exception):
    """Base of every error that elu_zoo raises on purpose."""

    exit_code = 1


class UsageError(EluZooError, ValueError):
    """A wrong argument, flag or config value; nothing was started."""

    exit_code = 2


class UsageTypeError(UsageError, TypeError):
    """An argument of the wrong type."""


class NotFoundError(UsageError, FileNotFoundError):
    """A path that the user named does not exist."""

    def __str__(self) -> str:
        return str(self.args[0])


class DataError(EluZooError):
    """A data set is missing, unprepared or not what it says it is."""


class CorruptError(EluZooError):
    """A file is damaged, forged or not of the expected form."""


class ResourceError(EluZooError):
    """The machine or its network refused: no space, no permission, a lock, no host."""


class TrainingError(EluZooError):
    """Training cannot go on, for instance after a loss that is not finite."""


class Interrupted(EluZooError):
    """Training was told to stop; its state is saved and a rerun resumes it."""

    exit_code = 143


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Returns "Did you mean 'x'? " for a close match of `name`, else ""."""
    lower = {each.lower(): each for each in known}
    matches = difflib.get_close_matches(str(name).lower(), lower, n=1, cutoff=0.5)
    return f"Did you mean {lower[matches[0]]!r}? " if matches else ""


def graph_reason(message: str) -> str:
    """Returns the sentence of a graph's error, which stands among names of nodes."""
    message = re.sub(r"\{\{.*?\}\}|\[Op:[^]]*\]( name:)?", "", message)
    lines = [line.strip() for line in message.splitlines()]
    lines = [line for line in lines if line and not line.startswith("[[")]
    return lines[-1] if lines else ""


def printable(text: str) -> str:
    """Returns a text with its control characters replaced: a terminal obeys them."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def unknown(kind: str, name: object, known: Iterable[str]) -> UsageError:
    """Returns the error for a `name` that is not among the `known` ones."""
    known = list(known)
    return UsageError(
        f"Unknown {kind} {name!r}. {did_you_mean(name, known)}"
        f"Known: {', '.join(known) or 'none'}."
    )


def check_bool(name: str, value: Any) -> None:
    """Checks a switch: a word such as "no" would pass for True.

    Raises:
        UsageError: it is neither True nor False.
    """
    if not isinstance(value, bool):
        raise UsageError(f"{name} is True or False. Received: {value!r}.")


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Checks an argument that is one of several words.

    Raises:
        UsageError: it is none of them.
    """
    if value not in tuple(choices):
        raise unknown(name, value, choices)


def check_integer(name: str, value: Any, *, minimum: int) -> None:
    """Checks an integer.

    Raises:
        UsageError: it is no integer, or below `minimum`.
    """
    integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not (integer and value >= minimum):
        raise UsageError(f"{name} is an integer >= {minimum}. Received: {value!r}.")


def is_finite(value: Any) -> bool:
    """Whether a value is a finite number; True and False are none."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value)


def check_number(
    name: str, value: Any, expected: str, fits: Callable[[float], bool]
) -> None:
    """Checks a finite number.

    Args:
        name: of the argument.
        value: what was received for it.
        expected: the range, for the message: "is finite and > 0".
        fits: whether a finite number is in the range.

    Raises:
        UsageError: the value is no finite number, or not in the range.
    """
    if not (is_finite(value) and fits(value)):
        raise UsageError(f"{name} {expected}. Received: {value!r}.")


def check_positive(name: str, value: Any) -> None:
    """Checks that an argument is finite and > 0; raises `UsageError`."""
    check_number(name, value, "is finite and > 0", lambda number: number > 0)


def check_non_negative(name: str, value: Any) -> None:
    """Checks that an argument is finite and >= 0; raises `UsageError`."""
    check_number(name, value, "is finite and >= 0", lambda number: number >= 0)


def check_numbers(
    name: str, value: Any, count: int, expected: str, fits: Callable[[Any], bool]
) -> None:
    """Checks an argument of several numbers, such as one rate a layer.

    Args:
        name: of the argument.
        value: what was received for it.
        count: how many numbers there are.
        expected: what they are, for the message: "rates in [0, 1)".
        fits: whether an entry is a number in the range.

    Raises:
        UsageError: another number of entries, or one that does not fit.
    """
    try:
        entries = tuple(value)
    except TypeError:
        entries = ()
    if len(entries) != count or not all(map(fits, entries)):
        raise UsageError(f"{name} has {count} {expected}. Received: {value!r}.")


def positive_float32(name: str, value: Any) -> float:
    """Returns a number that is finite and > 0 in float32 as a Python float.

    Raises:
        UsageError: the value is no such number.
    """
    fits = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if fits:
        # Comparisons of NumPy's own numbers overflow, Python's do not.
        plain = value.item() if hasattr(value, "item") else value
        # Activations compute in float32: beyond, a number is infinite there, or 0.
        fits = 2.0**-126 <= plain < 2.0**128
    if not fits:
        raise UsageError(
            f"{name} must be a finite number > 0. Received: {name}={value!r}"
        )
    return float(value)
