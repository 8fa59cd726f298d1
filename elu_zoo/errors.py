"""Errors of elu_zoo, and checks of single arguments.

A message says what is wrong, what was expected, what was received, and what to do.
Commands print the message on one line and exit with `exit_code`.
"""

import contextlib
import difflib
import importlib.util
import math
import numbers
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

_LISTED = 5  # the largest number of names that a message lists
# Ranges of numbers, for messages and as functions.
POSITIVE = "must be finite and > 0", lambda number: number > 0
NON_NEGATIVE = "must be finite and >= 0", lambda number: number >= 0
FRACTION = "must be in [0, 1)", lambda number: 0 <= number < 1


class EluZooError(Exception):
    """Base class of the errors of elu_zoo."""

    exit_code = 1


class UsageError(EluZooError, ValueError):
    """A wrong argument, flag or config value."""

    exit_code = 2


class UsageTypeError(UsageError, TypeError):
    """An argument of the wrong type."""


class NotFoundError(UsageError, FileNotFoundError):
    """A file, folder, statistics or weights that are needed do not exist on this machine."""


class DataError(EluZooError):
    """A data set or an image is missing, unreadable, or differs from what is expected."""


class CorruptError(EluZooError):
    """A file is damaged, forged or in an unexpected format."""


class ResourceError(EluZooError):
    """Memory, disk space, a permission or the network is missing, or a lock is held."""


class TrainingError(EluZooError):
    """Training cannot continue, for instance because the loss is not finite."""


class Interrupted(EluZooError):
    """Training was stopped; its state is saved, and the same command resumes it."""

    exit_code = 143


def did_you_mean(name: object, known: Iterable[str], prefix: str = "") -> str:
    """Returns "Did you mean 'x'? " for the closest known name after a prefix, or ""."""
    lower = {word.lower(): word for word in known}
    matches = difflib.get_close_matches(str(name).lower(), lower, n=1, cutoff=0.5)
    return f"Did you mean {prefix + lower[matches[0]]!r}? " if matches else ""


def listed(names: Sequence[str]) -> str:
    """Returns up to five names for a message, and the number of others."""
    more = f" and {len(names) - _LISTED} more" * (len(names) > _LISTED)
    return ", ".join(names[:_LISTED]) + more


def graph_reason(message: str) -> str:
    """Returns the message of a TensorFlow graph error without names of nodes."""
    hint = "(?s:You may be trying to load on a different device.*)"  # untrue in most cases
    message = re.sub(r"\{\{.*?\}\}|\[Op:[^]]*\]( name:)?|" + hint, "", message)
    lines = [line.strip() for line in message.splitlines()]
    lines = [line for line in lines if line and not line.startswith("[[")]
    return re.sub(r"^assertion failed: \[(.*)\]$", r"\1", lines[-1]) if lines else ""


def printable(text: str, length: int | None = None) -> str:
    """Returns a text, shortened, without control characters, which a terminal would execute."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return shown if length is None or len(shown) <= length else shown[:length] + "..."


def unknown_name_error(kind: str, name: object, known: Iterable[str]) -> UsageError:
    """Returns the error for a `name` that is not in `known`."""
    known = list(known)
    return UsageError(
        f"Unknown {kind} {name!r}. {did_you_mean(name, known)}Known: {', '.join(known) or 'none'}."
    )


def check_packages(what: str, names: Iterable[str], extra: str) -> None:
    """Checks that packages are installed, all of which an extra of elu_zoo has."""
    if missing := [name for name in names if importlib.util.find_spec(name) is None]:
        raise UsageError(f'{what} needs {listed(missing)}. Run: pip install "elu-zoo[{extra}]"')


def check_bool(name: str, value: Any) -> None:
    """Raises `UsageError` unless a value is True or False."""
    if not isinstance(value, bool):
        raise UsageError(f"{name} must be True or False. Received: {value!r}.")


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raises `UsageError` unless a value is one of the choices."""
    if value not in tuple(choices):
        raise unknown_name_error(name, value, choices)


def check_integer(name: str, value: Any, *, minimum: int) -> None:
    """Raises `UsageError` unless a value is an integer >= `minimum`."""
    integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not (integer and value >= minimum):
        raise UsageError(f"{name} must be an integer >= {minimum}. Received: {value!r}.")


def is_finite(value: Any) -> bool:
    """Returns whether a value is a finite number and not a bool."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    with contextlib.suppress(OverflowError):  # an integer beyond float64
        return number and math.isfinite(value)
    return False


def check_number(name: str, value: Any, range: tuple[str, Callable[[float], bool]]) -> None:
    """Raises `UsageError` unless a value is finite and in a range, such as `POSITIVE`."""
    if not (is_finite(value) and range[1](value)):
        raise UsageError(f"{name} {range[0]}. Received: {value!r}.")


def check_numbers(
    name: str, value: Any, count: int, expected: str, fits: Callable[[Any], bool]
) -> None:
    """Raises `UsageError` unless a value has `count` entries that fit, such as "rates > 0"."""
    try:
        entries = tuple(value)
    except TypeError:
        entries = ()
    if len(entries) != count or not all(map(fits, entries)):
        raise UsageError(f"{name} must have {count} {expected}. Received: {value!r}.")


def positive_float32(name: str, value: Any) -> float:
    """Returns a value as a Python float; `UsageError` unless it is > 0 in float32."""
    number = float(value) if is_finite(value) else math.nan
    # Activations compute in float32, where other numbers become infinite or 0.
    if not 2.0**-126 <= number < 2.0**128:
        raise UsageError(f"{name} must be a finite number > 0 in float32. Received: {value!r}.")
    return number
