"""The API's end of the queue, as the rest of the API knows it. It lives in the event loop.

`RedisApiMailbox` is the one over a queue. `worker.local.LocalEngines` takes its place in the modes without one.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any

from scheduler.errors import Cancelled, DeadlineExceeded, QueueFull, RateLimited, RequestFailed, ShuttingDown
from scheduler.messages import Completion, FinishReason
from worker.queue import admission
from worker.queue.protocol import MailboxStatus, Outcome, Submission
from worker.queue.waiters import FAILURES, Waiters, wake

HEARTBEAT_S = 2.0  # between comments of an event stream without events
State = Completion | tuple[int, ...]  # of a job: its answer, or the output ids so far


class ApiMailbox(ABC):
    """Queues the jobs of requests and waits for their answers."""

    def __init__(self) -> None:
        self._waiters = Waiters()
        self._is_closed = False
        self._waits: dict[asyncio.Future[Any], Submission] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._look_s = inf  # when the timer ends the waits whose time is over

    def begin(self) -> None:
        """Work in the event loop that runs. Called once, from it, before anything else."""
        self._loop = asyncio.get_running_loop()

    @abstractmethod
    async def ask(self, command: tuple[Any, ...]) -> Any:
        """The reply of Redis. Raises NotReady; NeedsAQueue in the modes without one."""

    def known_refusal(self, client: str = "") -> QueueFull | RateLimited | None:
        """The refusal of any request of this client that comes now; known without asking, for some ms after one."""
        return None

    @abstractmethod
    def status(self, asked: MailboxStatus) -> MailboxStatus:
        """`asked`, the status as Redis knows it, with what this process knows of itself."""

    @abstractmethod
    async def enqueue(self, wanted: Submission) -> None:
        """Queue the jobs of a request, in order: all or none. `wait` or `follow` comes next, if it is not asynchronous.

        With a key that was used before it joins that request. Raises QueueFull, RateLimited, DeadlineExceeded,
        NotReady, ShuttingDown, NeedsAQueue; InvalidRequest where it could never fit; IdempotencyConflict. The refusal
        of a single job without a key may come out of `wait` instead.
        """

    async def wait(self, wanted: Submission, job_ids: Sequence[str] | None = None) -> list[Completion]:
        """The completions of all its jobs, or of these, in order, each stop or length. Each job is waited for once.

        The first failure ends the wait, and the jobs still unanswered are abandoned; the client's leaving is a failure.
        Raises DeadlineExceeded, RequestFailed, Cancelled, RemovedByOperator, ShuttingDown.
        """
        job_ids = list(wanted.outcomes) if job_ids is None else job_ids
        news = self._waiters.begin_wait(wanted, job_ids)
        try:
            if wanted.missing:
                await self._until(news, wanted)
            return [completion_of(outcome) for outcome in map(wanted.outcomes.get, job_ids) if outcome is not None]
        finally:
            self.abandon(wanted, job_ids)

    async def follow(self, wanted: Submission) -> AsyncGenerator[Sequence[State]]:
        """Yield the states of its jobs at every change and every HEARTBEAT_S, last of all the completions.

        Waits and raises as `wait`. Output ids are seen only of a request that was enqueued to be followed.
        """
        news = self._waiters.begin_wait(wanted, list(wanted.outcomes))
        try:
            while wanted.missing:
                yield _states(wanted)
                await self.pause(wanted, HEARTBEAT_S, news)
                news = wanted.news = asyncio.get_running_loop().create_future()
            yield _states(wanted)
        finally:
            self.abandon(wanted)

    async def pause(self, wanted: Submission, most_s: float, news: asyncio.Future[None] | None = None) -> None:
        """Wait for so long, or for the news. Raises DeadlineExceeded; Cancelled where the client has left."""
        with suppress(TimeoutError):
            async with asyncio.timeout(most_s):
                await self._until(news or asyncio.get_running_loop().create_future(), wanted)
        if wanted.has_left:
            raise _left()
        if not wanted.left_s():
            raise _late(wanted)

    def abandon(self, wanted: Submission, job_ids: Sequence[str] | None = None) -> None:
        """Cancel those of its jobs that nobody else waits for, here or in another API process."""
        open_ids = [
            job_id
            for job_id in self._waiters.remove(wanted, job_ids)
            if wanted.outcomes[job_id] is None or isinstance(wanted.outcomes[job_id], ShuttingDown)
        ]
        if open_ids:
            self._cancel(open_ids, FinishReason.CANCELLED if wanted.left_s() else FinishReason.EXPIRED)

    @abstractmethod
    def _cancel(self, job_ids: Sequence[str], why: FinishReason) -> None:
        """Nobody here waits for these jobs any more."""

    def close(self) -> None:
        """Stop; all who still wait get ShuttingDown. Does not need Redis."""
        self._is_closed = True
        self._waiters.shut_down()

    async def _until(self, news: asyncio.Future[None], wanted: Submission) -> None:
        """Raises DeadlineExceeded; Cancelled where the client leaves first."""
        self._waits[news] = wanted
        self._look_at(wanted.until_s)
        if wanted.when_left is not None:
            wanted.when_left(partial(_leave, wanted, news))
        try:
            await news
        finally:
            del self._waits[news]
            if wanted.when_left is not None:
                wanted.when_left(None)

    def _look_at(self, until_s: float) -> None:
        """One timer for all who wait: to arm and cancel one for each took 4 % of the CPU time of the process."""
        if until_s < self._look_s < inf:
            self._timer.cancel()  # type: ignore[union-attr]
        if until_s < self._look_s:
            delay_s, self._look_s = until_s - time.monotonic(), until_s
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._end_late)

    def _end_late(self) -> None:
        now, self._look_s = time.monotonic(), inf
        for news, wanted in self._waits.items():
            if wanted.until_s <= now:
                wake(news, _late(wanted))
        if left := [wanted.until_s for wanted in self._waits.values() if wanted.until_s > now]:
            self._look_at(min(left))


def _leave(wanted: Submission, news: asyncio.Future[Any]) -> None:
    wanted.has_left = True
    wake(news, _left())


def _left() -> Cancelled:
    return Cancelled("The client left before the answer was there.")


def _late(wanted: Submission) -> DeadlineExceeded:
    problem = f"No answer within {wanted.allowed_s or 0:g} s; the request was cancelled."
    return DeadlineExceeded(f"{problem} Give it longer, or try again later.")


def _states(wanted: Submission) -> list[State]:
    """Raises the first failure among them."""
    outcomes = wanted.outcomes.items()
    return [wanted.written.get(job_id, ()) if end is None else completion_of(end) for job_id, end in outcomes]


def completion_of(outcome: Outcome) -> Completion:
    """The answer. Raises what the outcome is, where it is a failure."""
    if isinstance(outcome, Exception):
        raise outcome
    if outcome.finish_reason not in FAILURES:
        return outcome
    if outcome.finish_reason is FinishReason.ERROR:
        raise RequestFailed(outcome.error or "The request failed.")
    if outcome.finish_reason is FinishReason.CANCELLED:
        raise Cancelled("The request was cancelled before it had an answer.")
    raise admission.expired()
