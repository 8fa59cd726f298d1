"""Filter of stderr: a command prints only messages of elu_zoo, as plain sentences."""

import contextlib
import importlib.util
import logging
import os
import re
import sys
import warnings
from collections.abc import Iterator

from elu_zoo import errors

_INHERITED = "ELU_ZOO_QUIET"  # environment variable, inherited by worker processes
_LIBRARY = re.compile("-packages/(?!elu_zoo/)")  # in paths of installed modules


def start() -> None:
    """Filters stderr of this process and of worker processes that call `follow`."""
    os.environ[_INHERITED] = "1"
    handler = logging.StreamHandler()
    handler.setFormatter(_Sentence())
    handler.addFilter(lambda r: r.levelno >= logging.ERROR or not _LIBRARY.search(r.pathname))
    logging.getLogger().handlers[:] = [handler]
    warnings.showwarning = lambda *_, **__: None
    if importlib.util.find_spec("tensorflow"):  # Its messages come before any setting.
        with native():
            import tensorflow as tf

            tf.config.list_physical_devices("GPU")


def follow() -> None:
    """Filters stderr of a worker process if its parent process filters it."""
    if _INHERITED in os.environ:
        start()


class _Sentence(logging.Formatter):
    """Formats a record as its message, without time and file."""

    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        if record.exc_info and record.exc_info[1]:
            text += f" {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        text = "\n".join(map(errors.printable, text.split("\n")))
        # "error: " is reserved for the last line of a command that failed.
        return "warning: " * (record.levelno >= logging.WARNING) + text


@contextlib.contextmanager
def native() -> Iterator[None]:
    """Hides output of C++ code on stderr in the block, after `start`."""
    if _INHERITED not in os.environ:
        yield
        return
    sys.stderr.flush()
    stderr = os.dup(2)
    with open(os.devnull, "wb") as hidden:
        os.dup2(hidden.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
