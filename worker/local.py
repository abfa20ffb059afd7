"""The modes without a queue: the model runs in the API process, one sentence at a time on each engine.

`LocalEngines` takes the place of the API's end of the queue and of its observer. A thread pool with one thread for each
engine is the queue: requests run in the order of their arrival. What needs Redis is refused here, and nowhere else.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import NoReturn

from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.errors import (
    Cancelled,
    DeadlineExceeded,
    NeedsAQueue,
    QueueFull,
    RequestFailed,
    ServingError,
    ShuttingDown,
)
from scheduler.messages import Completion, CorrectionRequest, Delivery, FinishReason
from worker.engine import Engine
from worker.queue import admission
from worker.queue.api_mailbox import ApiMailbox, completion_of
from worker.queue.protocol import MailboxStatus, Submission

logger = logging.getLogger(__name__)
_NO_QUEUE = (
    "This server runs without a queue, so it keeps no request for later: it takes no `Prefer: respond-async` and no "
    "Idempotency-Key, finds no request again, and counts for no learner. Set MINISERVE_MODE (--mode) to continuous or "
    "static for that."
)


class LocalEngines(ApiMailbox):
    """Is observed as `RedisObserver` is, too."""

    def __init__(self, engines: Sequence[Engine], max_waiting: int) -> None:
        super().__init__()
        self._max_waiting = max_waiting
        self._engines = tuple(engines)
        self._pool = ThreadPoolExecutor(len(engines), "model")
        self._free: SimpleQueue[Engine] = SimpleQueue()  # never empty for a thread of the pool
        for engine in engines:
            self._free.put(engine)
        self._counts: Counter[str] = Counter()
        self._jobs: dict[str, asyncio.Task[Completion]] = {}  # sentences that wait or run
        self._reserved_tokens = 0
        self._used: dict[str, list[float]] = {}  # by client with a limited key: until when what it used lasts
        self._busy_s = 0.0  # with what is done

    @property
    def _num_waiting(self) -> int:
        return max(0, len(self._jobs) - len(self._engines))

    async def enqueue(self, wanted: Submission) -> None:
        """Its sentences wait for their turns side by side. Those of a long text leave an engine to other requests."""
        if wanted.is_kept:
            raise NeedsAQueue(_NO_QUEUE)
        if self._is_closed:
            raise admission.shutting_down()
        if (num_waiting := self._num_waiting) >= self._max_waiting:
            self._count_refusal(wanted, "full")
            rate = len(self._engines) * self._counts["done"] / self._busy_s if self._busy_s else 0.0
            seconds = admission.retry_after_s(num_waiting, rate)
            raise QueueFull(f"{num_waiting} requests wait for the model already; try again in {seconds} s.", seconds)
        if wanted.limits:
            self._charge(wanted)
        self._add(wanted)
        wanted.accepted_s, wanted.run_id = time.perf_counter(), "here"
        at_once = asyncio.Semaphore(max(1, len(self._engines) - 1))  # with a single engine requests take turns
        for request in wanted.requests:
            self._counts["accepted"] += 1
            self._reserved_tokens += request.reserved_tokens
            job = self._jobs[request.request_id] = self._loop.create_task(self._run(request, wanted.until_s, at_once))
            job.add_done_callback(partial(self._note_end, wanted, request))

    async def _run(self, request: CorrectionRequest, until_s: float, at_once: asyncio.Semaphore) -> Completion:
        arrived_s = time.monotonic()
        async with at_once:
            return await self._loop.run_in_executor(self._pool, self._compute, request, until_s, arrived_s)

    def _count_refusal(self, wanted: Submission, why: str) -> None:
        if not wanted.is_further:
            self._counts.update({f"refused_{why}": 1, "refused_sentences": len(wanted.requests)})

    def _charge(self, wanted: Submission) -> None:
        """Do what ENQUEUE does (over_limit): a second's worth may come at once, or one request. Raises RateLimited."""
        now, untils = time.monotonic(), []
        costs = {"requests": 1, "tokens": sum(request.reserved_tokens for request in wanted.requests)}
        used = self._used.get(wanted.client, [0.0, 0.0])
        for (what, cost), per_s, until in zip(costs.items(), map(float, wanted.limits.split()), used, strict=True):
            slack_s = max(0.0, 1 - 1 / per_s) if what == "requests" and per_s else 1.0
            wait_s = max(now, until) - now - slack_s
            if per_s and wait_s > 1e-5:
                self._count_refusal(wanted, "share")
                raise admission.over_limit(what, per_s, wait_s)
            untils.append(max(now, until) + cost / per_s if per_s else 0.0)
        self._used[wanted.client] = untils

    def _note_end(self, wanted: Submission, request: CorrectionRequest, job: asyncio.Task[Completion]) -> None:
        self._jobs.pop(request.request_id, None)
        self._reserved_tokens -= request.reserved_tokens
        try:
            done = completion_of(admission.shutting_down() if job.cancelled() else job.result())
            self._busy_s += done.timings.prefill_s + done.timings.decode_s
            self._counts.update(done=1, done_length=int(done.finish_reason is FinishReason.LENGTH))
            self._resolve(request.request_id, done)
        except ServingError as error:
            is_late = isinstance(error, DeadlineExceeded) or not wanted.left_s()
            is_given_up = isinstance(error, (Cancelled, DeadlineExceeded, ShuttingDown))
            self._counts["failed" if not is_given_up else "expired" if is_late else "cancelled"] += 1
            self._resolve(request.request_id, error)

    def _compute(self, request: CorrectionRequest, until_s: float, arrived_s: float) -> Completion:
        """Run in a thread of the pool."""
        engine, began_s = self._free.get(), time.monotonic()
        try:
            ended = engine.accept(Delivery(request, 1, began_s - arrived_s, max(0.0, until_s - began_s)))
            while ended is None:
                if request.request_id not in self._jobs:
                    raise Cancelled("Nobody waits for this sentence any more.")
                ended = next(iter(engine.step()), None)
            return ended
        except ServingError:
            raise
        except Exception as error:
            logger.exception("iteration failed", extra={"request_id": request.request_id})
            raise RequestFailed("The model failed to run the request; the log says why.") from error
        finally:
            engine.drop_all()  # what was given up
            self._free.put(engine)

    def _cancel(self, job_ids: Sequence[str], why: FinishReason) -> None:
        """One that runs ends itself within an iteration."""
        for job_id in job_ids:
            if (job := self._jobs.get(job_id)) is not None:
                job.cancel()

    def status(self, asked: MailboxStatus | None = None) -> MailboxStatus:
        return MailboxStatus(redis_ok=True, live_workers=len(self._engines), queue_depth=self._num_waiting)

    async def observe(self) -> Observed:
        """Counts and gauges of this process, which is the whole system. Nothing is remembered for windows."""
        totals = Counter[str]()
        for engine in self._engines:
            totals.update(engine.observations.totals())
        return Observed(
            now=Moment(time.monotonic(), done=self._counts["done"]),
            workers=tuple(_facts(f"model-{at}", engine) for at, engine in enumerate(self._engines)),
            num_api_replicas=1,
            counts=dict(self._counts),
            totals=totals,
            queue_depth=self._num_waiting,
            num_waiting=self._num_waiting,
            num_running=len(self._jobs) - self._num_waiting,  # one too many where a long text alone is there
            reserved_tokens=self._reserved_tokens,
        )

    async def news(self, since: str) -> NoReturn:
        raise NeedsAQueue("There is no batch to see: this mode runs each request by itself. Choose another --mode.")

    async def find(self, request_id: str) -> NoReturn:
        raise NeedsAQueue(_NO_QUEUE)

    async def ask(self, command: tuple[object, ...]) -> NoReturn:
        raise NeedsAQueue(_NO_QUEUE)

    def close(self) -> None:
        """Those that run end after their iteration."""
        super().close()
        for job in self._jobs.values():
            job.cancel()
        self._jobs.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)


def _facts(name: str, engine: Engine) -> WorkerFacts:
    policy, limits = engine.policy, engine.policy.limits
    return WorkerFacts(
        name,
        num_running=len(policy.running),
        reserved_tokens=policy.reserved_tokens,
        kv_budget_tokens=limits.kv_budget_tokens,
        max_slots=limits.max_slots,
    )
