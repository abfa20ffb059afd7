"""The API's end of the queue, as the rest of the API knows it. It lives in the event loop.

`RedisApiMailbox` is the one over a queue. `worker.local.LocalEngines` takes its place in the modes without one.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any

from scheduler.errors import (
    Cancelled,
    DeadlineExceeded,
    NotReady,
    QueueFull,
    RateLimited,
    RequestFailed,
    ServingError,
    ShuttingDown,
)
from scheduler.messages import Completion, FinishReason, Progress
from worker.queue import admission
from worker.queue.protocol import MailboxStatus, Outcome, ReplyMode, Submission

_FAILURES = frozenset((FinishReason.ERROR, FinishReason.CANCELLED, FinishReason.EXPIRED))
HEARTBEAT_S = 2.0  # between comments of an event stream without events
State = Completion | tuple[int, ...]  # of a job: its answer, or the output ids so far


class ApiMailbox(ABC):
    """Queues the jobs of requests and waits for their answers. These come in several ways; the first counts."""

    def __init__(self) -> None:
        self._by_id: dict[str, list[Submission]] = {}  # who waits for a job; the same one may be waited for twice
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
        news = self._begin_wait(wanted, job_ids)
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
        news = self._begin_wait(wanted, list(wanted.outcomes))
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
            for job_id in self._remove(wanted, job_ids)
            if (outcome := wanted.outcomes[job_id]) is None
            or isinstance(outcome, ShuttingDown)
            or (isinstance(outcome, NotReady) and wanted.may_be_known)  # sent, and no reply came
        ]
        if open_ids:
            self._cancel(open_ids, FinishReason.CANCELLED if wanted.left_s() else FinishReason.EXPIRED)

    @abstractmethod
    def _cancel(self, job_ids: Sequence[str], why: FinishReason) -> None:
        """Nobody here waits for these jobs any more."""

    def close(self) -> None:
        """Stop; all who still wait get ShuttingDown. Does not need Redis."""
        self._is_closed = True
        for job_id in self._by_id:
            self._resolve(job_id, admission.shutting_down())

    def _add(self, wanted: Submission) -> None:
        """Its jobs are waited for, unless it is asynchronous."""
        wanted.run_id, wanted.since_s = "", time.monotonic()
        if wanted.manner is ReplyMode.ASYNC:
            return
        wanted.outcomes = dict.fromkeys([request.request_id for request in wanted.requests])
        for job_id in wanted.outcomes:
            self._by_id.setdefault(job_id, []).append(wanted)

    def _begin_wait(self, wanted: Submission, job_ids: Sequence[str]) -> asyncio.Future[None]:
        """Return what is done when all of these have an outcome, or one has failed."""
        news = wanted.news = asyncio.get_running_loop().create_future()
        outcomes = [wanted.outcomes[each] for each in job_ids]
        missing = {each for each, outcome in zip(job_ids, outcomes, strict=True) if outcome is None}
        wanted.missing = set() if any(_is_failure(each) for each in outcomes if each is not None) else missing
        return news

    def _remove(self, wanted: Submission, job_ids: Iterable[str] | None = None) -> list[str]:
        """Wait no longer for all its jobs, or for these. Return those that nobody else waits for."""
        left = []
        for job_id in wanted.outcomes if job_ids is None else job_ids:
            waiting = self._by_id.get(job_id, [])
            if wanted in waiting:
                waiting.remove(wanted)
            if not waiting and self._by_id.pop(job_id, None) is not None:
                left.append(job_id)
        return left

    def _resolve(self, job_id: str, outcome: Outcome, asked_s: float = inf) -> None:
        """Give all who wait for a job its outcome; who has one keeps it.

        An end published before a request was accepted belongs to an earlier job of that id. So does the
        reply to a look-up sent before the request came.
        """
        is_cancelled = isinstance(outcome, Completion) and outcome.finish_reason is FinishReason.CANCELLED
        for wanted in self._by_id.get(job_id, ()):
            is_earlier = wanted.since_s > asked_s or (is_cancelled and not wanted.run_id)
            if not is_earlier and wanted.outcomes[job_id] is None:
                wanted.outcomes[job_id] = outcome
                if job_id in wanted.missing:
                    wanted.missing.discard(job_id)
                    if _is_failure(outcome):
                        wanted.missing.clear()
                    _tell(wanted)

    def _note_progress(self, progress: Progress) -> None:
        """Pass on what was written so far; a worker that restarts the request repeats what is known."""
        for wanted in self._by_id.get(progress.request_id, ()):
            if len(progress.output_ids) > len(wanted.written.get(progress.request_id, ())):
                wanted.written[progress.request_id] = progress.output_ids
                _tell(wanted)

    def _unanswered(self, older_than_s: float = 0.0) -> list[tuple[str, Submission]]:
        """Each job that is waited for so long, and one request that waits for it."""
        before = time.monotonic() - older_than_s
        firsts = [(job_id, waiting[0]) for job_id, waiting in self._by_id.items()]
        return [(each, wanted) for each, wanted in firsts if not wanted.outcomes[each] and wanted.since_s <= before]

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
                _wake(news, _late(wanted))
        if left := [wanted.until_s for wanted in self._waits.values() if wanted.until_s > now]:
            self._look_at(min(left))


def _wake(news: asyncio.Future[Any], error: ServingError | None = None) -> None:
    """End the wait for news, with an error where one is given. The first end counts."""
    if not news.done():
        news.set_result(None) if error is None else news.set_exception(error)


def _tell(wanted: Submission) -> None:
    if wanted.news is not None and (not wanted.missing or wanted.manner is ReplyMode.FOLLOW):
        _wake(wanted.news)


def _is_failure(outcome: Outcome) -> bool:
    return isinstance(outcome, Exception) or outcome.finish_reason in _FAILURES


def _leave(wanted: Submission, news: asyncio.Future[Any]) -> None:
    wanted.has_left = True
    _wake(news, _left())


def _left() -> Cancelled:
    return Cancelled("The client left before the answer was there.")


def _late(wanted: Submission) -> DeadlineExceeded:
    problem = f"No answer within {wanted.allowed_s or 0:g} s; the request was cancelled."
    return DeadlineExceeded(f"{problem} Give it longer, or try again later.")


def _states(wanted: Submission) -> list[State]:
    """Raises the first failure among them."""
    outcomes = wanted.outcomes.items()
    return [wanted.written.get(job_id, ()) if end is None else completion_of(end) for job_id, end in outcomes]


def answer_of(outcome: Outcome | None) -> Completion | None:
    """The answer; None where the outcome is another, or not there."""
    return outcome if isinstance(outcome, Completion) and not _is_failure(outcome) else None


def completion_of(outcome: Outcome) -> Completion:
    """The answer. Raises what the outcome is, where it is a failure."""
    if isinstance(outcome, Exception):
        raise outcome
    if outcome.finish_reason not in _FAILURES:
        return outcome
    if outcome.finish_reason is FinishReason.ERROR:
        raise RequestFailed(outcome.error or "The request failed.")
    if outcome.finish_reason is FinishReason.CANCELLED:
        raise Cancelled("The request was cancelled before it had an answer.")
    raise admission.expired()
