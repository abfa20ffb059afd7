"""Who waits for which answer: the books of one process, without a queue."""

from __future__ import annotations

import asyncio
import time

from scheduler.errors import DeadlineExceeded
from scheduler.messages import Completion, CorrectionRequest, FinishReason
from worker.queue.protocol import Submission
from worker.queue.waiters import Waiters, WaitingMailbox


def submission(name: str, *job_ids: str) -> Submission:
    return Submission(name, requests=tuple(CorrectionRequest(each, (5,), (0,), 4, "t") for each in job_ids))


class LockOfAnother:
    """Another thread goes on as soon as the lock is given back."""

    def __init__(self, then: object) -> None:
        self._then = then

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        self._then()


def test_a_request_that_joins_another_while_somebody_looks_is_seen_as_it_was() -> None:
    waiters, wanted = Waiters(), submission("own", "own")
    waiters.add(wanted)

    def join() -> None:
        wanted.join("earlier")
        wanted.outcomes = {"earlier": None}

    waiters._lock = LockOfAnother(join)

    assert waiters.unanswered() == [("own", wanted)]


class Alone(WaitingMailbox):
    """Nobody is told of what is abandoned."""

    def abandon(self, *_: object) -> None: ...


def test_who_waits_in_the_loop_is_told_at_the_end_of_its_own_time() -> None:
    mailbox, answer = Alone(), Completion("long", FinishReason.STOP)

    async def wait() -> list[object]:
        waits = []
        for name, left_s in (("long", 60.0), ("short", 0.01), ("longer", 0.03), ("over", 0.0)):
            wanted = submission(name, name)
            wanted.until_s = time.monotonic() + left_s
            mailbox._waiters.add(wanted)
            waits.append(asyncio.ensure_future(mailbox.wait_all_soon(wanted, lambda _: None)))
        late = await asyncio.wait_for(asyncio.gather(*waits[1:], return_exceptions=True), 30.0)
        mailbox._waiters.resolve("long", answer)
        return [*map(type, late), *await asyncio.wait_for(waits[0], 30.0)]

    assert asyncio.run(wait()) == [DeadlineExceeded] * 3 + [answer]


def test_one_timer_waits_for_all_deadlines_in_whatever_order_they_come() -> None:
    mailbox = Alone()

    async def num_armed() -> list[int]:
        loop, timers = asyncio.get_running_loop(), []
        arm = loop.call_later

        def call_later(delay_s: float, call: object, *facts: object) -> asyncio.TimerHandle:
            timers.append(arm(delay_s, call, *facts))
            return timers[-1]

        loop.call_later = call_later
        waits = []
        for number in range(10):
            mailbox._waiters.add(wanted := submission(f"{number}", f"{number}"))
            wanted.until_s = time.monotonic() + 600.0 - number
            waits.append(loop.create_task(mailbox.wait_all_soon(wanted, lambda _: None)))
            await asyncio.sleep(0)
        found = [sum(not timer.cancelled() for timer in timers)]
        timers.clear()
        mailbox._end_late(loop)
        found.append(sum(not timer.cancelled() for timer in timers))
        for wait in waits:
            wait.cancel()
        await asyncio.wait(waits)
        return found

    assert asyncio.run(num_armed()) == [1, 1]
