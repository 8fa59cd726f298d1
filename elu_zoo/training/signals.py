"""Turns SIGTERM and SIGINT into a flag that the loop looks at between calls."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def stop_requested() -> Iterator[Callable[[], str | None]]:
    """Yields a function that returns the name of the signal received, or None.

    A second signal acts at once, as if nothing had been installed. Outside the main
    thread, where Python takes no handlers, the function always returns None.
    """
    received: list[str] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    previous = {s: signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGINT)}

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def remember(number, _frame) -> None:
        received.append(signal.Signals(number).name)
        restore()

    for number in previous:
        signal.signal(number, remember)
    try:
        yield lambda: received[0] if received else None
    finally:
        restore()
