"""Stops a run by SIGTERM or SIGINT, between chunks of iterations or in an evaluation."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from elu_zoo import errors


class Stopped(Exception):
    """A signal stopped the run. Machines of a cluster pass its number as the argument."""


class Stop:
    """Points at which a run, on all its machines, stops after a signal.

    `received` returns the number of the signal that this process received, or 0.
    """

    def __init__(self, received: Callable[[], int], peers: Any):
        self._received = received
        self._peers = peers
        # Several machines evaluate together, and therefore stop between chunks only.
        self.check = self.poll_signal if peers.count == 1 else None

    def poll_signal(self) -> None:
        """Raises `Stopped` after a signal, in work of a single machine."""
        if self._received():
            raise Stopped

    def between(self, chunks: Iterable[Any]) -> Iterator[Any]:
        """Yields chunks; raises `Stopped` after a machine has received a signal."""
        for chunk in chunks:
            yield chunk
            if number := self._peers.any_signal(self._received()):
                raise Stopped(number)

    @contextlib.contextmanager
    def saving(self, save: Callable[[], None]) -> Iterator[None]:
        """Saves the run if a signal stops the `with` block."""
        try:
            yield
        except Stopped:
            with self._peers.together():
                save()
            raise


@contextlib.contextmanager
def stop_on_signal(peers: Any, describe: Callable[[], str]) -> Iterator[Stop]:
    """Raises `Interrupted`, with signal and `describe()`, if a signal stops the block."""
    with stop_requested() as received:
        try:
            yield Stop(received, peers)
        except Stopped as error:
            # The error has no number if a machine was stopped while it worked alone.
            number = next(filter(None, [*error.args, received(), signal.SIGTERM]))
            name = signal.Signals(number).name
            raise errors.Interrupted(f"{name} {describe()}") from None


@contextlib.contextmanager
def stop_requested() -> Iterator[Callable[[], int]]:
    """Yields a function that returns the number of the signal received, or 0.

    The first signal restores the previous handlers, so that a second one ends the process
    at once. Outside the main thread, where Python allows no handlers, it returns 0.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: 0
        return
    previous = {s: signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGINT)}

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def remember(number, _frame) -> None:
        received.append(number)
        restore()

    for number in previous:
        signal.signal(number, remember)
    try:
        yield lambda: received[0] if received else 0
    finally:
        restore()
