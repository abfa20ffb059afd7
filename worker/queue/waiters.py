"""Who waits for which answer in this process.

Answers come by subscription and by poll; the first counts.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf
from typing import Any

from scheduler.errors import Cancelled, DeadlineExceeded, RequestFailed, ServingError, ShuttingDown
from scheduler.messages import Completion, FinishReason, Progress
from worker.queue import admission
from worker.queue.protocol import ApiMailbox, Outcome, ReplyMode, Submission, WhenLeft

_FAILURES = frozenset((FinishReason.ERROR, FinishReason.CANCELLED, FinishReason.EXPIRED))
HAS_LEFT_EVERY_S = 0.1  # a look costs 3 us: 1,000 who wait, 3 % of a core
HEARTBEAT_S = 2.0  # between comments of an event stream without events


class Patience:
    """How long somebody waits: until a time is over, or the client has left."""

    def __init__(self, wanted: Submission) -> None:
        self._wanted = wanted
        self._looked_s = time.monotonic()

    def wait(self, news: threading.Event, at_most_s: float = inf) -> None:
        """Return when there are some, or that time is over. Raises DeadlineExceeded; Cancelled if the client left."""
        slice_s = at_most_s if self._wanted.has_left is None else min(at_most_s, HAS_LEFT_EVERY_S)
        until_s = time.monotonic() + at_most_s
        while not news.wait(min(slice_s, self._wanted.left_s())):
            self.check()
            if time.monotonic() >= until_s:
                return

    def check(self) -> None:
        """Raises as `wait`. May be called more often than a look at the client is worth."""
        now = time.monotonic()
        if self._wanted.has_left is not None and now - self._looked_s >= HAS_LEFT_EVERY_S:
            self._looked_s = now
            if self._wanted.has_left():
                raise _left()
        if now >= self._wanted.until_s:
            raise _late(self._wanted.allowed_s)


def _left() -> Cancelled:
    return Cancelled("The client left before the answer was there.")


def _late(allowed_s: float | None) -> DeadlineExceeded:
    problem = f"No answer within {allowed_s or 0:g} s; the request was cancelled."
    return DeadlineExceeded(f"{problem} Give it longer, or try again later.")


class Waiters:
    """The requests of this process that wait for answers; what came of them changes under one lock.

    The same job may be waited for twice, hence a list for each.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_id: dict[str, list[Submission]] = {}

    def add(self, wanted: Submission, run_id: str = "") -> None:
        """Its jobs are waited for, unless it is asynchronous."""
        wanted.run_id, wanted.since_s = run_id, time.monotonic()
        if wanted.manner is ReplyMode.ASYNC:
            return
        wanted.outcomes = dict.fromkeys([request.request_id for request in wanted.requests])
        with self._lock:
            for job_id in wanted.outcomes:
                self._by_id.setdefault(job_id, []).append(wanted)

    def begin_wait(self, wanted: Submission, job_ids: Sequence[str], tell: Callable[[], None]) -> None:
        """`tell` is called when all of these are there, or one has failed. Raises KeyError for one waited for."""
        with self._lock:
            for job_id in job_ids:
                if wanted not in self._by_id.get(job_id, ()):
                    raise KeyError(f"{job_id} was waited for before")
            missing = {each for each in job_ids if wanted.outcomes[each] is None}
            there = [outcome for outcome in map(wanted.outcomes.get, job_ids) if outcome is not None]
            wanted.missing = set() if any(map(_is_failure, there)) else missing
            wanted.tell = tell

    def remove(self, wanted: Submission, job_ids: Iterable[str] | None = None) -> list[str]:
        """Wait no longer for all its jobs, or for these. Return those that nobody else waits for."""
        left = []
        with self._lock:
            for job_id in wanted.outcomes if job_ids is None else job_ids:
                waiting = self._by_id.get(job_id, [])
                if wanted in waiting:
                    waiting.remove(wanted)
                if not waiting and self._by_id.pop(job_id, None) is not None:
                    left.append(job_id)
        return left

    def resolve(self, job_id: str, outcome: Outcome, asked_s: float = inf) -> None:
        """Give all who wait for a job its outcome; who has one keeps it.

        An end published before a request was accepted belongs to an earlier job of that id. So does the
        reply to a look-up sent before the request came.
        """
        is_cancelled = isinstance(outcome, Completion) and outcome.finish_reason is FinishReason.CANCELLED
        with self._lock:
            for wanted in self._by_id.get(job_id, ()):
                is_earlier = wanted.since_s > asked_s or (is_cancelled and not wanted.run_id)
                if not is_earlier:
                    _note(wanted, job_id, outcome)

    def hear(self, progress: Progress) -> None:
        """Pass on what was written so far; a worker that restarts the request repeats what is known."""
        with self._lock:
            for wanted in self._by_id.get(progress.request_id, ()):
                if len(progress.output_ids) > len(wanted.written.get(progress.request_id, ())):
                    wanted.written[progress.request_id] = progress.output_ids
                    _tell(wanted)

    def of(self, job_id: str) -> list[tuple[str, Submission]]:
        """A job and one request that waits for it, if there is any."""
        with self._lock:
            return [(job_id, wanted) for wanted in self._by_id.get(job_id, ())[:1]]

    def unanswered(self, older_than_s: float = 0.0) -> list[tuple[str, Submission]]:
        """Each job that is waited for so long, and one request that waits for it."""
        before = time.monotonic() - older_than_s
        with self._lock:
            firsts = [(job_id, waiting[0]) for job_id, waiting in self._by_id.items()]
            return [(each, wanted) for each, wanted in firsts if not wanted.outcomes[each] and wanted.since_s <= before]

    def shut_down(self) -> None:
        for job_id in list(self._by_id):
            self.resolve(job_id, admission.shutting_down())


def _note(wanted: Submission, job_id: str, outcome: Outcome) -> None:
    """The first outcome counts."""
    if wanted.outcomes[job_id] is None:
        wanted.outcomes[job_id] = outcome
        if job_id in wanted.missing:
            wanted.missing.discard(job_id)
            if _is_failure(outcome):
                wanted.missing.clear()
            _tell(wanted)


def _tell(wanted: Submission) -> None:
    """There are news of what is waited for."""
    if wanted.tell is not None and (not wanted.missing or wanted.manner is ReplyMode.FOLLOW):
        wanted.tell()


def _wake(waiting: asyncio.Future[None], error: ServingError | None = None) -> None:
    if not waiting.done():
        waiting.set_result(None) if error is None else waiting.set_exception(error)


class WaitingMailbox(ApiMailbox):
    """The wait for what was accepted."""

    def __init__(self) -> None:
        self._waiters = Waiters()
        self._in_loops: dict[asyncio.Future[None], Submission] = {}
        self._timer: Any = None, inf, None  # the loop, when it looks for those whose time is over, and its timer

    def wait_all(self, wanted: Submission, job_ids: Sequence[str] | None = None) -> list[Completion]:
        job_ids = list(wanted.outcomes) if job_ids is None else job_ids
        with self.waiting(wanted, job_ids) as news:
            patience = Patience(wanted)
            while wanted.missing:
                patience.wait(news)
                news.clear()
            return completions_of(wanted, job_ids)

    async def wait_all_soon(self, wanted: Submission, when_left: WhenLeft) -> list[Completion]:
        loop, job_ids, why = asyncio.get_running_loop(), list(wanted.outcomes), FinishReason.CANCELLED
        future: asyncio.Future[None] = loop.create_future()
        self._waiters.begin_wait(wanted, job_ids, partial(_wake, future))
        self._in_loops[future] = wanted
        self._look_at(wanted.until_s, loop)
        when_left(lambda: _wake(future, _left()))
        try:
            if wanted.missing:
                await future
            return completions_of(wanted, job_ids)
        except DeadlineExceeded:
            why = FinishReason.EXPIRED
            raise
        finally:
            del self._in_loops[future]
            when_left(None)
            self._end_wait(wanted, job_ids, why)

    def _look_at(self, until_s: float, loop: asyncio.AbstractEventLoop) -> None:
        """One timer for all who wait: to arm and cancel one for each took 4 % of the CPU time of the process."""
        of_loop, at_s, timer = self._timer
        if loop is of_loop and until_s >= at_s:
            return
        if loop is of_loop:
            timer.cancel()
        self._timer = loop, until_s, loop.call_later(until_s - time.monotonic(), self._end_late, loop)

    def _end_late(self, loop: asyncio.AbstractEventLoop) -> None:
        now, self._timer = time.monotonic(), (None, inf, None)
        waiting = [(future, wanted) for future, wanted in self._in_loops.items() if future.get_loop() is loop]
        for future, wanted in waiting:
            if wanted.until_s <= now:
                _wake(future, _late(wanted.allowed_s))
        if left := [wanted.until_s for _, wanted in waiting if wanted.until_s > now]:
            self._look_at(min(left), loop)

    def follow(self, wanted: Submission) -> Generator[Sequence[Completion | tuple[int, ...]]]:
        job_ids, patience = list(wanted.outcomes), Patience(wanted)
        with self.waiting(wanted, job_ids) as news:
            while wanted.missing:
                outcomes = [(each, wanted.outcomes[each]) for each in job_ids]
                yield [wanted.written.get(each, ()) if end is None else completion_of(end) for each, end in outcomes]
                patience.wait(news, HEARTBEAT_S)
                patience.check()
                news.clear()
            yield completions_of(wanted, job_ids)

    @contextmanager
    def waiting(self, wanted: Submission, job_ids: Sequence[str]) -> Iterator[Any]:
        """Waits for them this once, however it ends."""
        why, news = FinishReason.CANCELLED, threading.Event()
        self._waiters.begin_wait(wanted, job_ids, news.set)
        try:
            yield news
        except DeadlineExceeded:
            why = FinishReason.EXPIRED
            raise
        finally:
            self._end_wait(wanted, job_ids, why)

    def _end_wait(self, wanted: Submission, job_ids: Sequence[str], why: FinishReason) -> None:
        """Those that have no answer by then, or get none, are abandoned."""
        outcomes = wanted.outcomes
        open_ids = [each for each in job_ids if outcomes[each] is None or isinstance(outcomes[each], ShuttingDown)]
        if open_ids:
            self.abandon(wanted, why, open_ids)
        self._waiters.remove(wanted, job_ids)


def completions_of(wanted: Submission, job_ids: Sequence[str]) -> list[Completion]:
    """The answers that are there, in order. Raises the first failure among them."""
    return [completion_of(outcome) for outcome in map(wanted.outcomes.get, job_ids) if outcome is not None]


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


def _is_failure(outcome: Outcome) -> bool:
    return isinstance(outcome, Exception) or outcome.finish_reason in _FAILURES
