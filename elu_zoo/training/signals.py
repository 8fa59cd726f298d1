"""Turns SIGTERM and SIGINT into a flag that the loop looks at between its parts."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator


class Stopped(Exception):
    """A signal came, and what was under way has been given up."""


def check(signal: Callable[[], int]) -> Callable[[], None]:
    """Returns a function that raises `Stopped` once `signal` returns a number."""

    def raise_if_stopped() -> None:
        if signal():
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
