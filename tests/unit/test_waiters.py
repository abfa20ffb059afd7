"""How those wait who wait in the event loop, without a queue."""

from __future__ import annotations

import asyncio
import time

from scheduler.errors import DeadlineExceeded
from worker.queue.api_end import RedisApiMailbox
from worker.queue.api_mailbox import ApiMailbox, wake
from worker.queue.connection import Address
from worker.queue.protocol import Submission


def waiting(mailbox: ApiMailbox, left_s: float) -> tuple[asyncio.Future[None], asyncio.Task[None]]:
    """Somebody who waits so long for news."""
    news, wanted = asyncio.get_running_loop().create_future(), Submission("r")
    wanted.until_s = time.monotonic() + left_s
    return news, asyncio.ensure_future(mailbox._until(news, wanted))


def test_who_waits_is_told_at_the_end_of_its_own_time() -> None:
    async def wait() -> list[object]:
        mailbox = RedisApiMailbox(Address("redis://nowhere"))
        (news, first), *late = [waiting(mailbox, left_s) for left_s in (60.0, 0.01, 0.03, 0.0)]
        ends = await asyncio.wait_for(asyncio.gather(*[task for _, task in late], return_exceptions=True), 30.0)
        wake(news)
        return [*map(type, ends), await asyncio.wait_for(first, 30.0)]

    assert asyncio.run(wait()) == [DeadlineExceeded] * 3 + [None]


def test_one_timer_waits_for_all_deadlines_in_whatever_order_they_come() -> None:
    async def num_armed() -> list[int]:
        mailbox, loop, timers = RedisApiMailbox(Address("redis://nowhere")), asyncio.get_running_loop(), []
        arm = loop.call_later

        def call_later(delay_s: float, call: object, *facts: object) -> asyncio.TimerHandle:
            timers.append(arm(delay_s, call, *facts))
            return timers[-1]

        loop.call_later = call_later
        waits = []
        for number in range(10):
            waits.append(waiting(mailbox, 600.0 - number)[1])
            await asyncio.sleep(0)
        found = [sum(not timer.cancelled() for timer in timers)]
        timers.clear()
        mailbox._end_late()
        found.append(sum(not timer.cancelled() for timer in timers))
        for wait in waits:
            wait.cancel()
        await asyncio.wait(waits)
        return found

    assert asyncio.run(num_armed()) == [1, 1]
