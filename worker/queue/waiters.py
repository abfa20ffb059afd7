"""Who waits for which answer in this process.

Answers come by subscription and by poll; the first counts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any

from scheduler.errors import ServingError
from scheduler.messages import Completion, FinishReason, Progress
from worker.queue import admission
from worker.queue.protocol import Outcome, ReplyMode, Submission

FAILURES = frozenset((FinishReason.ERROR, FinishReason.CANCELLED, FinishReason.EXPIRED))


class Waiters:
    """The requests of this process that wait for answers. The same job may be waited for twice, hence lists."""

    def __init__(self) -> None:
        self._by_id: dict[str, list[Submission]] = {}

    def add(self, wanted: Submission) -> None:
        """Its jobs are waited for, unless it is asynchronous."""
        wanted.run_id, wanted.since_s = "", time.monotonic()
        if wanted.manner is ReplyMode.ASYNC:
            return
        wanted.outcomes = dict.fromkeys([request.request_id for request in wanted.requests])
        for job_id in wanted.outcomes:
            self._by_id.setdefault(job_id, []).append(wanted)

    def begin_wait(self, wanted: Submission, job_ids: Sequence[str]) -> asyncio.Future[None]:
        """Return what is done when all of these have an outcome, or one has failed."""
        news = wanted.news = asyncio.get_running_loop().create_future()
        outcomes = [wanted.outcomes[each] for each in job_ids]
        missing = {each for each, outcome in zip(job_ids, outcomes, strict=True) if outcome is None}
        wanted.missing = set() if any(_is_failure(each) for each in outcomes if each is not None) else missing
        return news

    def remove(self, wanted: Submission, job_ids: Iterable[str] | None = None) -> list[str]:
        """Wait no longer for all its jobs, or for these. Return those that nobody else waits for."""
        left = []
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
        for wanted in self._by_id.get(job_id, ()):
            is_earlier = wanted.since_s > asked_s or (is_cancelled and not wanted.run_id)
            if not is_earlier and wanted.outcomes[job_id] is None:
                wanted.outcomes[job_id] = outcome
                if job_id in wanted.missing:
                    wanted.missing.discard(job_id)
                    if _is_failure(outcome):
                        wanted.missing.clear()
                    _tell(wanted)

    def hear(self, progress: Progress) -> None:
        """Pass on what was written so far; a worker that restarts the request repeats what is known."""
        for wanted in self._by_id.get(progress.request_id, ()):
            if len(progress.output_ids) > len(wanted.written.get(progress.request_id, ())):
                wanted.written[progress.request_id] = progress.output_ids
                _tell(wanted)

    def of(self, job_id: str) -> list[tuple[str, Submission]]:
        """A job and one request that waits for it, if there is any."""
        return [(job_id, wanted) for wanted in self._by_id.get(job_id, ())[:1]]

    def unanswered(self, older_than_s: float = 0.0) -> list[tuple[str, Submission]]:
        """Each job that is waited for so long, and one request that waits for it."""
        before = time.monotonic() - older_than_s
        firsts = [(job_id, waiting[0]) for job_id, waiting in self._by_id.items()]
        return [(each, wanted) for each, wanted in firsts if not wanted.outcomes[each] and wanted.since_s <= before]

    def shut_down(self) -> None:
        for job_id in self._by_id:
            self.resolve(job_id, admission.shutting_down())


def wake(news: asyncio.Future[Any], error: ServingError | None = None) -> None:
    """End the wait for news, with an error where one is given. The first end counts."""
    if not news.done():
        news.set_result(None) if error is None else news.set_exception(error)


def _tell(wanted: Submission) -> None:
    if wanted.news is not None and (not wanted.missing or wanted.manner is ReplyMode.FOLLOW):
        wake(wanted.news)


def _is_failure(outcome: Outcome) -> bool:
    return isinstance(outcome, Exception) or outcome.finish_reason in FAILURES
