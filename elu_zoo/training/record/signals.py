"""Stops a run by SIGTERM or SIGINT, between chunks of iterations or in an evaluation."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from elu_zoo import errors


class Stopped(Exception):
    """A signal stopped the run.

    The argument is the signal's number if the machines exchanged the number.
    """


class Stop:
    """Points at which a run stops after a signal.

    Args:
        received: returns the number of the signal that this process received, or 0.
        peers: the machines of the run. All machines stop at the same point.
    """

    def __init__(self, received: Callable[[], int], peers: Any):
        self._received = received
        self._peers = peers
        self.poll_signal = poll(received)  # for work of a single machine
        # Several machines evaluate together, and therefore stop between chunks only.
        self.check = self.poll_signal if peers.count == 1 else None

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
    """Raises `Interrupted` if a signal stops the `with` block.

    Args:
        peers: see `Stop`.
        describe: returns the end of a message that begins with the signal's name.
    """
    with stop_requested() as received:
        try:
            yield Stop(received, peers)
        except Stopped as stopped:
            # `Stopped` has no number if a machine was stopped while it worked alone.
            number = next(filter(None, [*stopped.args, received(), signal.SIGTERM]))
            name = signal.Signals(number).name
            raise errors.Interrupted(f"{name} {describe()}") from None


def poll(received: Callable[[], int]) -> Callable[[], None]:
    """Returns a function that raises `Stopped` once `received` returns a number."""

    def raise_if_stopped() -> None:
        if received():
            raise Stopped

    return raise_if_stopped


@contextlib.contextmanager
def stop_requested() -> Iterator[Callable[[], int]]:
    """Yields a function that returns the number of the signal received, or 0.

    The first signal restores the previous handlers, so that a second signal ends the
    process at once. Outside the main thread, Python allows no signal handlers, and the
    function always returns 0.
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
