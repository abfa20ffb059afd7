"""The model inside the API process, for the modes without a queue: `sync` and `threaded`.

Both keep the contract of the API's end of a mailbox, so that the API is the same in every mode and imports no model.
A request is a batch of its own here, whoever else waits: that is what these modes are to show.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from queue import SimpleQueue
from time import monotonic
from typing import NamedTuple

import structlog

from scheduler.errors import DeadlineExceeded
from scheduler.messages import Completion, CorrectionRequest, Delivery, FinishReason
from scheduler.observations import sum_totals
from scheduler.observed import Observed, WorkerFacts
from scheduler.settings import Settings
from worker.engine import Engine, load_weights_as_served, new_engine
from worker.mailbox.bounds import check_in_time, check_that_it_may_fit, expired, queue_full, shutting_down
from worker.mailbox.ledger import Ledger
from worker.mailbox.protocol import ApiMailbox, CallOff, MailboxLimits, MailboxStatus, Parting, Ticket
from worker.mailbox.rates import ServiceRate
from worker.mailbox.waiters import Waiter, Waiters, completions_of, new_ticket_number

logger = structlog.get_logger(__name__)
_REASONS = {Parting.LEFT: FinishReason.CANCELLED, Parting.TOO_LATE: FinishReason.EXPIRED}


def local_mailbox(settings: Settings, tokenizer_fingerprint: str) -> ApiMailbox:
    """The model of this mode, loaded. Raises WeightsError if it does not fit the tokenizer."""
    weights = load_weights_as_served(settings, tokenizer_fingerprint)
    if settings.mode == "sync":
        return InlineModel(new_engine(weights, settings, monotonic))
    engines = [new_engine(weights, settings, monotonic) for _ in range(settings.model_threads)]
    return ThreadedModel(engines, MailboxLimits.from_settings(settings))


def run_alone(engine: Engine, request: CorrectionRequest, waited_s: float = 0.0) -> Completion:
    """All iterations of one request, with nobody beside it."""
    refusal = engine.accept(Delivery(request, attempt=1, waited_s=waited_s))
    if refusal is not None:
        return refusal
    try:
        while True:
            for completion in engine.step():
                return completion
    except Exception:
        logger.exception("iteration failed", request_id=request.request_id)
        engine.drop_all()
        error = "the model met an internal error; see the log of the API"
        return Completion(request.request_id, FinishReason.ERROR, error=error)


def observed_in(engines: Sequence[Engine], ledger: Ledger) -> Observed:
    """Of this process alone: each engine stands for a worker."""
    totals = sum_totals([engine.policy.observations.totals() for engine in engines])
    now = ledger.moment(monotonic(), totals)
    num_running = sum(engine.policy.num_running for engine in engines)
    return Observed(
        now=now,
        history=ledger.history(now),
        workers=tuple(_facts(f"engine-{number}", engine) for number, engine in enumerate(engines, start=1)),
        num_api_replicas=1,
        counts=dict(ledger.counts),
        totals=totals,
        queue_depth=max(0, ledger.num_open - num_running),
        num_waiting=max(0, ledger.num_open - num_running),
        num_running=min(num_running, ledger.num_open),
    )


def _facts(name: str, engine: Engine) -> WorkerFacts:
    """One sequence at a time, whatever its cache could hold."""
    policy = engine.policy
    reserved, budget = policy.reserved_tokens, policy.limits.kv_budget_tokens
    return WorkerFacts(name, policy.num_running, policy.num_waiting, reserved, budget, max_slots=1)


class InlineModel(ApiMailbox):
    """Runs the model in the thread that waits for the answer. Used from one thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._ledger = Ledger()

    def submit_all(self, requests: Sequence[CorrectionRequest], within_s: float | None = None) -> tuple[Ticket, ...]:
        return tuple(Ticket(request, new_ticket_number()) for request in requests)

    def wait_all(
        self, tickets: Sequence[Ticket], timeout_s: float, has_left: Callable[[], bool] | None = None
    ) -> list[Completion]:
        """What has begun is not ended by `timeout_s`, nor is anything by `has_left`: nobody looks meanwhile."""
        deadline_s = monotonic() + timeout_s
        waiters = []
        for ticket in tickets:
            if monotonic() >= deadline_s:
                raise expired()
            waiters.append(Waiter(ticket, outcome=self._run(ticket.request)))
        return completions_of(waiters)

    def _run(self, request: CorrectionRequest) -> Completion:
        accepted_s = monotonic()
        self._ledger.accept(accepted_s)
        completion = run_alone(self._engine, request)
        self._ledger.end(completion, accepted_s, monotonic())
        return completion

    def abandon(self, ticket: Ticket, why: Parting = Parting.LEFT) -> None:
        """Nothing of it runs."""

    def cancel(self, request_id: str) -> CallOff:
        """Nothing of it runs."""
        return CallOff.DONE

    def status(self) -> MailboxStatus:
        return MailboxStatus(redis_ok=True, live_workers=1)

    def observe(self) -> Observed:
        return observed_in([self._engine], self._ledger)

    def close(self) -> None:
        """Whoever is being answered gets the answer; nobody else waits here."""


class _Pending(NamedTuple):
    request: CorrectionRequest
    future: Future[None]
    accepted_s: float


class ThreadedModel(ApiMailbox):
    """A pool of threads, each with an engine of its own; all share one set of weights."""

    def __init__(self, engines: Sequence[Engine], limits: MailboxLimits) -> None:
        self._limits = limits
        self._num_threads = len(engines)
        self._engines = tuple(engines)
        self._free_engines: SimpleQueue[Engine] = SimpleQueue()
        for engine in engines:
            self._free_engines.put(engine)
        self._pool = ThreadPoolExecutor(len(engines), thread_name_prefix="model")
        self._waiters = Waiters()
        self._lock = threading.Lock()  # for all that follows
        self._pending: dict[str, _Pending] = {}  # accepted and unfinished
        self._ledger = Ledger()
        self._rate = ServiceRate()
        self._is_closed = False

    def submit_all(self, requests: Sequence[CorrectionRequest], within_s: float | None = None) -> tuple[Ticket, ...]:
        check_that_it_may_fit(requests, self._limits)
        tickets = tuple(Ticket(request, new_ticket_number()) for request in requests)
        with self._lock:
            self._check_room(requests, within_s)
            now = monotonic()
            self._rate.begin(now)
            for ticket in tickets:
                self._waiters.add(ticket)
                future = self._pool.submit(self._run, ticket.request, now)
                self._pending[ticket.request_id] = _Pending(ticket.request, future, now)
                self._ledger.accept(now)
        return tickets

    def wait_all(
        self, tickets: Sequence[Ticket], timeout_s: float, has_left: Callable[[], bool] | None = None
    ) -> list[Completion]:
        return self._waiters.wait_all(tickets, timeout_s, has_left, self.abandon)

    def abandon(self, ticket: Ticket, why: Parting = Parting.LEFT) -> None:
        if self._waiters.remove(ticket):
            self._call_off(ticket.request_id, _REASONS[why])

    def cancel(self, request_id: str) -> CallOff:
        return self._call_off(request_id, FinishReason.CANCELLED)

    def _call_off(self, request_id: str, reason: FinishReason) -> CallOff:
        """What runs already runs to its end, for nobody."""
        with self._lock:
            pending = self._pending.get(request_id)
            if pending is not None and pending.future.cancel():
                del self._pending[request_id]
                self._ledger.end(Completion(request_id, reason), pending.accepted_s, monotonic())
        if pending is None:
            return CallOff.DONE
        self._waiters.resolve(request_id, Completion(request_id, FinishReason.CANCELLED))
        return CallOff.CANCELLED

    def status(self) -> MailboxStatus:
        with self._lock:
            return MailboxStatus(
                redis_ok=True,
                live_workers=self._num_threads,
                queue_depth=max(0, len(self._pending) - self._num_threads),
                reserved_tokens=self._pending_tokens(),
                reserved_requests=len(self._pending),
                service_rate_tokens_per_s=self._rate.tokens_per_s,
            )

    def observe(self) -> Observed:
        with self._lock:
            seen = observed_in(self._engines, self._ledger)
            return replace(seen, reserved_tokens=self._pending_tokens())

    def close(self) -> None:
        with self._lock:  # a request that is being accepted is in the pool and among those who are told, or refused
            self._is_closed = True
            self._waiters.resolve_all(shutting_down())
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _check_room(self, requests: Sequence[CorrectionRequest], within_s: float | None) -> None:
        if self._is_closed:
            raise shutting_down()
        limits, pending, pending_tokens = self._limits, len(self._pending), self._pending_tokens()
        tokens = sum(request.reserved_tokens for request in requests)
        if pending + len(requests) > limits.max_requests or pending_tokens + tokens > limits.max_tokens:
            self._ledger.refuse("refused_full", len(requests))
            raise queue_full(pending, pending_tokens, self._rate.tokens_per_s, limits)
        try:
            check_in_time(pending_tokens, tokens, self._rate.tokens_per_s, within_s)
        except DeadlineExceeded:
            self._ledger.refuse("refused_late", len(requests))
            raise

    def _pending_tokens(self) -> int:
        return sum(pending.request.reserved_tokens for pending in self._pending.values())

    def _run(self, request: CorrectionRequest, accepted_s: float) -> None:
        engine = self._free_engines.get()
        try:
            completion = run_alone(engine, request, waited_s=monotonic() - accepted_s)
        finally:
            self._free_engines.put(engine)
        with self._lock:
            del self._pending[request.request_id]
            self._ledger.end(completion, accepted_s, monotonic())
            self._rate.add(request.reserved_tokens, monotonic())
            if not self._pending:
                self._rate.pause()
        self._waiters.resolve(request.request_id, completion)
