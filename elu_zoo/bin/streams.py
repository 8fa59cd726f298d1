"""Standard streams that may be closed while a binary runs."""

import contextlib
import os
import select
import stat
import sys
from typing import Any, TextIO

_WAIT_MILLISECONDS = 1000  # until a message is dropped


def protect() -> None:
    """Wraps the standard streams, so that lost output does not stop a run.

    A closed stream is replaced by the null device, because otherwise the next opened
    file would get the descriptor of the stream and receive the stream's text. Text for
    stderr is dropped if it cannot be written. Text for stdout is dropped if its reader
    has ended, but a full disk raises an error. Characters outside the encoding of a
    stream are escaped.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode)  # takes the lowest free descriptor
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout = _Stream(sys.stdout, BrokenPipeError)
    sys.stderr = _Messages(sys.stderr, OSError)


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


class _Messages(_Stream):
    """A text stream that also drops messages when the pipe is full."""

    _wait = _WAIT_MILLISECONDS

    def write(self, text: str) -> int:
        return super().write(text) if self._has_room() else len(text)

    def _has_room(self) -> bool:
        try:
            descriptor = self._stream.fileno()
        except (OSError, ValueError):  # not a file
            return True
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
        if not is_pipe or not hasattr(select, "poll"):  # Windows has no poll
            return True
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        has_room = bool(poll.poll(self._wait))
        # A stopped reader delays one message; later messages are dropped at once.
        self._wait = _WAIT_MILLISECONDS if has_room else 0
        return has_room
