"""The errors of elu_zoo: one family, one exit code each, did-you-mean for names.

A message says what is wrong, what was expected, what came, and what to do. The
binaries print it in one line and leave with `exit_code`.
"""

import difflib
import re
from collections.abc import Iterable


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


def unknown(kind: str, name: object, known: Iterable[str]) -> UsageError:
    """Returns the error for a `name` that is not among the `known` ones."""
    known = list(known)
    return UsageError(
        f"Unknown {kind} {name!r}. {did_you_mean(name, known)}"
        f"Known: {', '.join(known) or 'none'}."
    )
