"""Standard streams that may be closed or lose their reader while a binary runs."""

import contextlib
import os
import sys
from typing import Any, TextIO


def protect() -> None:
    """Wraps the standard streams, so that lost output does not stop a run.

    Text for stderr is dropped if it cannot be written, text for stdout if its reader has
    ended; a full disk raises an error. Characters outside the encoding are escaped.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # the next opened file would get its descriptor
            stream = open(os.devnull, "r+")
            os.set_inheritable(stream.fileno(), True)  # or that file of a child process
            setattr(sys, name, stream)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout = _Stream(sys.stdout, BrokenPipeError)
    sys.stderr = _Stream(sys.stderr, OSError)


class _Stream:
    """A text stream that drops text when writing raises the error `dropped`."""

    def __init__(self, stream: TextIO, dropped: type[OSError]):
        self._stream, self._dropped = stream, dropped

    def write(self, text: str) -> int:
        with contextlib.suppress(self._dropped):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(self._dropped):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
