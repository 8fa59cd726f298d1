"""Stop of a run by SIGTERM or SIGINT, between calls of the step or in an evaluation."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from elu_zoo import errors


class Stopped(Exception):
    """A signal came, and the work in progress has been given up.

    Its argument is the number of the signal, if several machines agreed on one.
    """


class Stop:
    """The places at which a run stops after a signal.

    Args:
        received: returns the number of the signal that this process received, or 0.
        peers: the machines of the run, which have to stop at the same place.
    """

    def __init__(self, received: Callable[[], int], peers: Any):
        self._received = received
        self._peers = peers
        self.check_alone = check(received)  # for work of this machine alone
        # Several machines stop between calls only: none may leave an evaluation of all.
        self.check = self.check_alone if peers.alone else None

    def between(self, calls: Iterable[Any]) -> Iterator[Any]:
        """Yields calls; raises `Stopped` after one in which a machine had a signal."""
        for call in calls:
            yield call
            if number := self._peers.stop(self._received()):
                raise Stopped(number)

    @contextlib.contextmanager
    def saving(self, save: Callable[[], None]) -> Iterator[None]:
        """Saves the run where a signal stops the block."""
        try:
            yield
        except Stopped:
            with self._peers.together():
                save()
            raise


@contextlib.contextmanager
def stoppable(peers: Any, where: Callable[[], str]) -> Iterator[Stop]:
    """Raises `Interrupted`, with the text of `where`, if a signal stops the block."""
    with stop_requested() as received:
        try:
            yield Stop(received, peers)
        except Stopped as stopped:
            # Without either number another machine was stopped in its evaluation.
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

    A second signal acts at once, as if nothing had been installed. Outside the main
    thread, where Python takes no handlers, the function always returns 0.
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
