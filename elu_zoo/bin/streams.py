"""Standard streams whose loss does not end a run."""

import contextlib
import os
import select
import stat
import sys
from typing import Any, TextIO

_WAIT_MILLISECONDS = 1000  # for a reader of messages, before one is dropped


def protect() -> None:
    """Replaces the standard streams by ones that a binary can always write to.

    A closed stream becomes the null device: otherwise the next file that is opened gets
    its descriptor, and messages are written into that file. Messages on stderr that
    cannot be written are dropped, and so are results on stdout whose reader has ended;
    results that do not fit the disk are an error. Characters that a stream's encoding
    lacks are escaped.
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
    """A text stream that drops what it cannot write.

    Args:
        stream: the stream to write to.
        dropped: the error that is no failure.
    """

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
    """A stream that drops messages for which a pipe has no room, too."""

    _wait = _WAIT_MILLISECONDS

    def write(self, text: str) -> int:
        return super().write(text) if self._has_room() else len(text)

    def _has_room(self) -> bool:
        try:
            descriptor = self._stream.fileno()
        except (OSError, ValueError):  # a stream in memory
            return True
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
        if not is_pipe or not hasattr(select, "poll"):  # Windows has no poll
            return True
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        found = poll.poll(self._wait)
        # A reader that stopped delays the run once, not at every message.
        self._wait = _WAIT_MILLISECONDS if found else 0
        return bool(found)
