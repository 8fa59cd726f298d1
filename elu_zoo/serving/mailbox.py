"""What other threads have finished, told to an event loop all at once."""

import asyncio
import collections
import concurrent.futures
from typing import Any


class Mailbox:
    """Waits in an event loop for futures of other threads.

    `asyncio.wrap_future` wakes the loop once for each of them, and the answers of a
    batch come together.
    """

    def __init__(self):
        self._done: collections.deque = collections.deque()
        self._is_told = False

    async def wait(self, answer: concurrent.futures.Future) -> Any:
        """Returns the result of a future, which a caller that is cancelled cancels.

        Raises:
            As the future.
        """
        loop = asyncio.get_running_loop()
        here = loop.create_future()

        def done(answer):
            self._done.append((here, answer))
            if not self._is_told:
                self._is_told = True
                loop.call_soon_threadsafe(self._deliver)

        answer.add_done_callback(done)
        try:
            return await here
        except asyncio.CancelledError:
            answer.cancel()
            raise

    def _deliver(self) -> None:
        self._is_told = False
        while self._done:
            here, answer = self._done.popleft()
            if here.done() or answer.cancelled():
                continue
            if error := answer.exception():
                here.set_exception(error)
            else:
                here.set_result(answer.result())
