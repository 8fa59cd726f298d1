"""Filter of what a command's processes write on stderr: plain sentences of ours alone.

Without it TensorFlow writes about the processor and a missing GPU as it starts, other
libraries add their own lines, and every line begins with a time, a thread and a file.
"""

import contextlib
import importlib.util
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from elu_zoo import errors

_INHERITED = "ELU_ZOO_QUIET"  # an environment variable: processes pass it on
_OURS = Path(__file__).parent
_INSTALLED = {"site-packages", "dist-packages"}


def start() -> None:
    """Makes this process quiet, and those that `follow` it."""
    os.environ[_INHERITED] = "1"
    # Before TensorFlow is imported, which else brings a handler of its own.
    handler = logging.StreamHandler()
    handler.setFormatter(_Sentence())
    handler.addFilter(_is_for_the_user)
    logging.getLogger().handlers[:] = [handler]
    warnings.showwarning = _log_warning
    _import_tensorflow()


def follow() -> None:
    """Makes this process quiet where the one that started it is."""
    if _INHERITED in os.environ:
        start()


def _log_warning(message, category, filename, lineno, file=None, line=None) -> None:
    """Takes the place of `warnings.showwarning`."""
    level, text = logging.WARNING, str(message)
    record = logging.LogRecord("warnings", level, filename, lineno, text, (), None)
    logging.getLogger().handle(record)


class _Sentence(logging.Formatter):
    """Formats a record as its message alone."""

    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        if record.exc_info and record.exc_info[1]:
            text += f" {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        text = "\n".join(map(errors.printable, text.split("\n")))
        # "error: " is the line with which a command ends; here it goes on.
        return "warning: " * (record.levelno >= logging.WARNING) + text


def _is_for_the_user(record: logging.LogRecord) -> bool:
    """Whether the package or the user's own code wrote it, or it is an error."""
    path = Path(record.pathname)
    foreign = _INSTALLED & set(path.parts) and _OURS not in path.parents
    return not foreign or record.levelno >= logging.ERROR


@contextlib.contextmanager
def native() -> Iterator[None]:
    """Keeps back what C++ code writes in the block, where this process is quiet.

    An error that the block raises brings it back.
    """
    if _INHERITED not in os.environ:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as written:
        os.dup2(written.fileno(), 2)
        try:
            yield
        except BaseException:
            written.seek(0)
            os.write(kept, written.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _import_tensorflow() -> None:
    """Imports TensorFlow without the lines that it writes while it loads.

    They name a CPU's features and a missing GPU, some as errors, on every start;
    what a user must know of them, `training.devices` says. On every backend:
    wherever TensorFlow is installed, Keras imports it in the end.
    """
    if importlib.util.find_spec("tensorflow") is None:
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    with native():
        import tensorflow as tf

        tf.config.list_physical_devices("GPU")
