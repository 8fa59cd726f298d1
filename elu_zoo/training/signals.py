"""Stop of a run by SIGTERM or SIGINT, between two calls or in an evaluation."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from elu_zoo import errors


class Stopped(Exception):
    """A signal ended the work in progress.

    The argument is the signal's number, if several machines agreed on one.
    """


class Stop:
    """Points at which a run stops after a signal.

    Args:
        received: returns the number of the signal that this process received, or 0.
        peers: the machines of the run, which all stop at the same point.
    """

    def __init__(self, received: Callable[[], int], peers: Any):
        self._received = received
        self._peers = peers
        self.check_alone = check(received)  # for work of a single machine
        # Several machines evaluate together, and stop between calls only.
        self.check = self.check_alone if peers.alone else None

    def between(self, calls: Iterable[Any]) -> Iterator[Any]:
        """Yields calls; raises `Stopped` when a machine received a signal."""
        for call in calls:
            yield call
            if number := self._peers.stop(self._received()):
                raise Stopped(number)

    @contextlib.contextmanager
    def saving(self, save: Callable[[], None]) -> Iterator[None]:
        """Saves the run if a signal stops the block."""
        try:
            yield
        except Stopped:
            with self._peers.together():
                save()
            raise


@contextlib.contextmanager
def stoppable(peers: Any, where: Callable[[], str]) -> Iterator[Stop]:
    """Raises `Interrupted`, with the text of `where()`, if a signal stops the block."""
    with stop_requested() as received:
        try:
            yield Stop(received, peers)
        except Stopped as stopped:
            # Without a number, another machine was stopped while it worked alone.
            number = next(filter(None, [*stopped.args, received(), signal.SIGTERM]))
            name = signal.Signals(number).name
            raise errors.Interrupted(f"{name} {where()}") from None


def check(received: Callable[[], int]) -> Callable[[], None]:
    """Returns a function that raises `Stopped` once `received` returns a number."""

    def raise_if_stopped() -> None:
        if received():
            raise Stopped

    return raise_if_stopped


@contextlib.contextmanager
def stop_requested() -> Iterator[Callable[[], int]]:
    """Yields a function that returns the number of the signal received, or 0.

    A second signal acts at once, by the handlers from before. Outside the main thread
    Python takes no handlers, and the function returns 0.
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
