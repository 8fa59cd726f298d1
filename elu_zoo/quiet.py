"""Filter of stderr: a command prints only messages of elu_zoo, as plain sentences.

Without the filter, TensorFlow reports the processor and a missing GPU, other libraries
log messages, and every line begins with a time, a thread and a file.
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

_INHERITED = "ELU_ZOO_QUIET"  # environment variable, inherited by worker processes
_OURS = Path(__file__).parent
_INSTALLED = {"site-packages", "dist-packages"}


def start() -> None:
    """Filters stderr of this process, and of worker processes that call `follow`."""
    os.environ[_INHERITED] = "1"
    # Installed before the import of TensorFlow, which adds a handler if there is none.
    handler = logging.StreamHandler()
    handler.setFormatter(_Sentence())
    handler.addFilter(_is_for_the_user)
    logging.getLogger().handlers[:] = [handler]
    warnings.showwarning = _log_warning
    _import_tensorflow()


def follow() -> None:
    """Filters stderr of a worker process if its parent process filters it."""
    if _INHERITED in os.environ:
        start()


def _log_warning(message, category, filename, lineno, file=None, line=None) -> None:
    """Logs a warning; replaces `warnings.showwarning`."""
    level, text = logging.WARNING, str(message)
    record = logging.LogRecord("warnings", level, filename, lineno, text, (), None)
    logging.getLogger().handle(record)


class _Sentence(logging.Formatter):
    """Formats a record as its message, without time and file."""

    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        if record.exc_info and record.exc_info[1]:
            text += f" {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        text = "\n".join(map(errors.printable, text.split("\n")))
        # "error: " is reserved for the last line of a command that failed.
        return "warning: " * (record.levelno >= logging.WARNING) + text


def _is_for_the_user(record: logging.LogRecord) -> bool:
    """Returns whether a record is an error, or from elu_zoo or the user's code."""
    path = Path(record.pathname)
    is_library = _INSTALLED & set(path.parts) and _OURS not in path.parents
    return not is_library or record.levelno >= logging.ERROR


@contextlib.contextmanager
def native() -> Iterator[None]:
    """Hides output of C++ code on stderr in the block if `start` was called.

    If the block raises an error, the hidden output is printed.
    """
    if _INHERITED not in os.environ:
        yield
        return
    sys.stderr.flush()
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as hidden:
        os.dup2(hidden.fileno(), 2)
        try:
            yield
        except BaseException:
            hidden.seek(0)
            os.write(stderr, hidden.read())
            raise
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)


def _import_tensorflow() -> None:
    """Imports TensorFlow without its messages on the CPU's features and missing GPUs.

    The devices are logged by `training.step.devices`. TensorFlow is imported with the JAX
    backend too, because Keras imports TensorFlow whenever it is installed.
    """
    if importlib.util.find_spec("tensorflow") is None:
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    with native():
        import tensorflow as tf

        tf.config.list_physical_devices("GPU")
