import asyncio
import concurrent.futures
import itertools

import grpc

from elu_zoo.serving.mailbox import Mailbox
from elu_zoo.serving.refusals import Refusal

SECONDS = 10


def test_hands_over_what_threads_have_done():
    futures = [concurrent.futures.Future() for _ in range(4)]
    errors = ValueError("a"), Refusal(grpc.StatusCode.INTERNAL, "b")

    def finish():
        for future, error in itertools.zip_longest(futures, errors):
            if not future.set_running_or_notify_cancel():
                continue
            if error:
                future.set_exception(error)
            else:
                future.set_result("answer")

    async def run():
        mailbox = Mailbox()
        waiting = [asyncio.create_task(mailbox.wait(future)) for future in futures]
        await asyncio.sleep(0)
        waiting[3].cancel()
        await asyncio.sleep(0)
        assert futures[3].cancelled()
        await asyncio.to_thread(finish)
        async with asyncio.timeout(SECONDS):
            return await asyncio.gather(*waiting, return_exceptions=True)

    *answers, cancelled = asyncio.run(run())
    assert answers == [*errors, "answer"]
    assert isinstance(cancelled, asyncio.CancelledError)


def test_forgets_a_running_request_that_nobody_waits_for():
    async def run():
        mailbox, future = Mailbox(), concurrent.futures.Future()
        future.set_running_or_notify_cancel()
        waiting = asyncio.create_task(mailbox.wait(future))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        future.set_result("late")
        await asyncio.sleep(0.01)
        other = concurrent.futures.Future()
        other.set_result("answer")
        async with asyncio.timeout(SECONDS):
            return waiting.cancelled(), await mailbox.wait(other)

    assert asyncio.run(run()) == (True, "answer")
