"""The modes without a queue: the engines are in the API process, and each runs one sentence at a time.

The API has a `LocalEngines` in place of its end of the queue. The thread that answers a request runs an engine itself,
one sentence after the other, and waits for its turn before each. What needs a queue is refused here, and nowhere else.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
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
from scheduler.observations import ITERATIONS
from worker.engine import Engine
from worker.queue import admission
from worker.queue.protocol import ApiMailbox, MailboxStatus, Submission, WorkerReport
from worker.queue.waiters import Patience, completion_of
from worker.status import WorkerStatus

logger = logging.getLogger(__name__)
MOST_WAITING = 192  # threads that wait for a turn; the server has 256, so that refusals and probes find one
_ROWS, _STEP_S = 120, 1.0  # of the history
_ENDS = {DeadlineExceeded: "expired", Cancelled: "cancelled", ShuttingDown: "cancelled"}  # as they are counted
_NO_QUEUE = (
    "This server runs without a queue, so it keeps no request for later: it takes no `Prefer: respond-async` and no "
    "Idempotency-Key, and finds no request again. Set MINISERVE_MODE (--mode) to continuous or static for that."
)


@dataclass(slots=True, eq=False)
class _Turn:
    """A thread that waits for an engine."""

    has_come: threading.Event = field(default_factory=threading.Event)
    engine: Engine | None = None


class LocalEngines(ApiMailbox):
    """Keeps the protocols of ApiMailbox and Observer. Used from many threads."""

    def __init__(self, engines: Sequence[Engine], max_waiting: int = MOST_WAITING) -> None:
        self._max_waiting = min(max_waiting, MOST_WAITING)
        self._status = [WorkerStatus(engine, time.monotonic) for engine in engines]
        self._is_closed = False
        self._lock = threading.Lock()  # of all below
        self._free = list(engines)
        self._line: deque[_Turn] = deque()  # first come, first served
        self._open: dict[str, tuple[float, int]] = {}  # by sentence: since when, and its reserved tokens
        self._counts: Counter[str] = Counter()
        self._used: dict[str, list[float]] = {}  # by client with a limited key: until when what it used lasts
        self._stay_s = self._busy_s = 0.0  # of all that ended: from arrival, and from the turn, to the end
        self._history: deque[Moment] = deque(maxlen=_ROWS)

    def enqueue(self, wanted: Submission) -> None:
        """Let it in: `wait_all` and `follow` run it. Raises NeedsAQueue, QueueFull, RateLimited, ShuttingDown."""
        if wanted.is_kept:
            raise NeedsAQueue(_NO_QUEUE)
        with self._lock:
            if self._is_closed:
                raise admission.shutting_down()
            if (num_waiting := len(self._line)) >= self._max_waiting:
                self._counts.update(refused_full=1, refused_sentences=len(wanted.requests))
                rate = len(self._status) * self._counts["done"] / self._busy_s if self._busy_s else 0.0
                seconds = admission.retry_after_s(num_waiting, rate)
                raise QueueFull(
                    f"{num_waiting} requests wait for the model already; try again in {seconds} s.", seconds
                )
            if wanted.limits:
                self._charge(wanted)
        wanted.accepted_s = time.perf_counter()

    def _charge(self, wanted: Submission) -> None:
        """Do what ENQUEUE does (over_limit): a second's worth may come at once, or one request. Raises RateLimited."""
        now, untils = time.monotonic(), []
        costs = {"requests": 1, "tokens": sum(request.reserved_tokens for request in wanted.requests)}
        used = self._used.get(wanted.client, [0.0, 0.0])
        for (what, cost), per_s, until in zip(costs.items(), map(float, wanted.limits.split()), used, strict=True):
            slack_s = max(0.0, 1 - 1 / per_s) if what == "requests" and per_s else 1.0
            wait_s = max(now, until) - now - slack_s
            if per_s and wait_s > 1e-5:
                self._counts.update(refused_share=1, refused_sentences=len(wanted.requests))
                raise admission.over_limit(what, per_s, wait_s)
            untils.append(max(now, until) + cost / per_s if per_s else 0.0)
        self._used[wanted.client] = untils

    def wait_all(self, wanted: Submission, job_ids: Sequence[str] | None = None) -> list[Completion]:
        asked = [each for each in wanted.requests if job_ids is None or each.request_id in job_ids]
        return [self._run(wanted, request) for request in asked]

    def follow(self, wanted: Submission) -> Generator[Sequence[Completion | tuple[int, ...]]]:
        """Yield after each sentence, with no engine held: a client may read slowly."""
        outputs: list[Completion | tuple[int, ...]] = [()] * len(wanted.requests)
        for at, request in enumerate(wanted.requests):
            outputs[at] = self._run(wanted, request)
            yield tuple(outputs)

    def _run(self, wanted: Submission, request: CorrectionRequest) -> Completion:
        """Raises DeadlineExceeded, Cancelled, RequestFailed, ShuttingDown."""
        arrived_s, ends, patience = time.monotonic(), {"failed": 1}, Patience(wanted)
        with self._lock:
            self._counts["accepted"] += 1
            self._open[request.request_id] = arrived_s, request.reserved_tokens
        try:
            with self._turn(patience) as engine:
                delivery = Delivery(request, 1, time.monotonic() - arrived_s, wanted.left_s())
                completion = completion_of(self._compute(engine, delivery, patience))
            ends = {"done": 1, "done_length": int(completion.finish_reason is FinishReason.LENGTH)}
            return completion
        except ServingError as error:
            ends = {_ENDS.get(type(error), "failed"): 1}
            raise
        finally:
            with self._lock:
                del self._open[request.request_id]
                self._stay_s += (now := time.monotonic()) - arrived_s
                self._counts.update(ends)
                if self._is_due(now):
                    self._look(now)

    @contextmanager
    def _turn(self, patience: Patience) -> Iterator[Engine]:
        """An engine, in the order of arrival. Raises as `_run`."""
        turn, began_s = _Turn(), 0.0
        with self._lock:
            self._line.append(turn)
            self._serve()
        try:
            patience.wait(turn.has_come)
            if turn.engine is None:
                raise admission.shutting_down()
            began_s = time.monotonic()
            yield turn.engine
        finally:
            with self._lock:
                if turn.engine is not None:
                    self._busy_s += time.monotonic() - began_s if began_s else 0.0
                    self._free.append(turn.engine)
                elif turn in self._line:
                    self._line.remove(turn)
                self._serve()

    def _serve(self) -> None:
        while self._line and self._free:
            turn = self._line.popleft()
            turn.engine = self._free.pop()
            turn.has_come.set()

    def _compute(self, engine: Engine, delivery: Delivery, patience: Patience) -> Completion:
        try:
            ended = engine.accept(delivery)
            while ended is None:
                if self._is_closed:
                    raise admission.shutting_down()
                patience.check()
                ended = next(iter(engine.step()), None)
            return ended
        except ServingError:
            raise
        except Exception as error:
            logger.exception("iteration failed", extra={"request_id": delivery.request.request_id})
            raise RequestFailed("The model failed to run the request; the log says why.") from error
        finally:
            engine.drop_all()  # what was given up

    def status(self) -> MailboxStatus:
        return MailboxStatus(redis_ok=True, live_workers=len(self._status), queue_depth=len(self._line))

    def observe(self) -> Observed:
        """This process, which is the whole system."""
        with self._lock:
            return self._look(time.monotonic())

    def _is_due(self, now: float) -> bool:
        """Whether the history lacks its row of this second."""
        return not self._history or now - self._history[-1].at_s >= _STEP_S

    def _look(self, now: float) -> Observed:
        reports = [status.report() for status in self._status]
        totals, counts, history = Counter[str](), self._counts, tuple(self._history)
        for report in reports:
            totals.update(report.totals)
        prefix = f"{ITERATIONS}:"
        moment = Moment(
            at_s=now,
            area_s=self._stay_s + sum(now - arrived_s for arrived_s, _ in self._open.values()),
            stay_s=self._stay_s,
            accepted=counts["accepted"],
            refused=counts["refused_sentences"],
            ended=counts["accepted"] - len(self._open),
            done=counts["done"],
            failed=counts["failed"] + counts["expired"],
            iterations={name.removeprefix(prefix): value for name, value in totals.items() if name.startswith(prefix)},
        )
        if self._is_due(now):
            self._history.append(moment)
        return Observed(
            now=moment,
            history=history,
            workers=tuple(_facts(f"model-{at}", report) for at, report in enumerate(reports)),
            num_api_replicas=1,
            counts=dict(counts),
            totals=totals,
            queue_depth=len(self._line),
            num_waiting=len(self._line),
            num_running=len(self._open) - len(self._line),
            reserved_tokens=sum(tokens for _, tokens in self._open.values()),
        )

    def news(self, since: str) -> tuple[list[str], str]:
        return [], since

    def find(self, request_id: str) -> NoReturn:
        raise NeedsAQueue(_NO_QUEUE)

    def cancel_all(self, request_ids: Sequence[str]) -> NoReturn:
        raise NeedsAQueue(_NO_QUEUE)

    def close(self) -> None:
        """Requests that wait get ShuttingDown; those that run get it after their iteration."""
        with self._lock:
            self._is_closed = True
            for turn in self._line:
                turn.has_come.set()


def _facts(name: str, report: WorkerReport) -> WorkerFacts:
    gauges = report.gauges
    return WorkerFacts(
        name,
        num_running=int(gauges["num_running"]),
        reserved_tokens=int(gauges["kv_reserved_tokens"]),
        kv_budget_tokens=int(gauges["kv_budget_tokens"]),
        max_slots=int(gauges["max_slots"]),
        tokens_per_s=gauges["computed_tokens_per_s"],
    )
