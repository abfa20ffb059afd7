"""Helpers of the mailbox tests: requests, answers, and houses full of mailboxes that close themselves."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from redis import Redis

from scheduler.capacity.observed import Observed
from scheduler.errors import NotReady
from scheduler.messages import (
    NO_CAPACITY,
    Completion,
    CorrectionRequest,
    Delivery,
    FinishReason,
    FreeCapacity,
    Inbox,
    Progress,
)
from tests.pace import patient
from worker.queue.api_end import RedisApiMailbox
from worker.queue.api_link import LAST_CALLS_S
from worker.queue.connection import Address, Command, script
from worker.queue.protocol import (
    READY_WITHIN_S,
    CancelResult,
    MailboxLimits,
    MailboxStatus,
    Submission,
    WorkerReport,
)
from worker.queue.redis_observer import Found, RedisObserver
from worker.queue.redis_py import connect
from worker.queue.status_client import status_of
from worker.queue.worker_end import WorkerMailbox

T = TypeVar("T")
AMPLE = FreeCapacity(1_000_000)  # tokens that never bind


def a_request(request_id: str, num_prompt_tokens: int = 10, max_output_tokens: int = 32) -> CorrectionRequest:
    ids = tuple(range(num_prompt_tokens))
    return CorrectionRequest(request_id, ids, ids, max_output_tokens, "fingerprint")


def an_answer(request_id: str, *output_ids: int) -> Completion:
    return Completion(request_id, FinishReason.STOP, output_ids or (7, 1))


def a_bare_submission(requests: Sequence[CorrectionRequest], within_s: float | None = None) -> Submission:
    """Of a request whose text no test asks for."""
    name = requests[0].request_id if requests else "none"
    return Submission(name, "", "fingerprint", requests=tuple(requests), within_s=within_s)


def waiting(wanted: Submission, timeout_s: float, has_left: bool = False) -> Submission:
    """Whose client waits so long from now on, or has left."""
    wanted.allowed_s, wanted.until_s = timeout_s, time.monotonic() + timeout_s
    if has_left:
        wanted.when_left = lambda call: call and call()
    return wanted


def loop_in_a_thread() -> asyncio.AbstractEventLoop:
    """An event loop, as a server has one; it ends with the process, or when it is stopped."""
    loop = asyncio.new_event_loop()

    def run() -> None:
        loop.run_forever()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        with suppress(RuntimeError):  # it is stopped a second time
            loop.run_until_complete(asyncio.sleep(0))  # else a collection of garbage logs them, in any later test
        loop.close()

    threading.Thread(target=run, name="mailbox-loop", daemon=True).start()
    return loop


class SubmittingMailbox:
    """A mailbox in an event loop of its own, called by the thread of a test, which may submit ids that are known.

    So each call waits until they are accepted. Looks at all of Redis, too.
    """

    def __init__(self, address: Address, limits: MailboxLimits | None = None) -> None:
        self.loop = loop_in_a_thread()
        self.own = RedisApiMailbox(address, limits)
        self.known_refusal = self.own.known_refusal
        self._in_loop(self.own.begin)

    def _in_loop(self, call: Callable[..., object], *arguments: object) -> None:
        async def run() -> None:
            call(*arguments)

        asyncio.run_coroutine_threadsafe(run(), self.loop).result()

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def ask(self, command: Command) -> Any:
        return self.call(self.own.ask(command))

    def status(self) -> MailboxStatus:
        try:
            return self.own.status(status_of(self.ask(script("status", READY_WITHIN_S))))
        except NotReady:
            return MailboxStatus(redis_ok=False)

    def submit(self, request: CorrectionRequest, within_s: float | None = None) -> Submission:
        return self.submit_all((request,), within_s)

    def submit_all(self, requests: Sequence[CorrectionRequest], within_s: float | None = None) -> Submission:
        wanted = a_bare_submission(requests, within_s)
        self.enqueue(wanted)
        self._wait_until_accepted(wanted)
        return wanted

    def enqueue(self, *wanted: Submission) -> None:
        """All of them at the same time."""

        async def enqueue() -> None:
            await asyncio.gather(*map(self.own.enqueue, wanted))

        self.call(enqueue())

    def _wait_until_accepted(self, wanted: Submission) -> None:
        """Raises its refusal."""
        eventually(lambda: wanted.run_id or any(wanted.outcomes.values()))
        if not wanted.run_id:
            raise next(filter(None, wanted.outcomes.values()))

    def submit_recorded(
        self, record: Submission, requests: Sequence[CorrectionRequest], within_s: float | None = None
    ) -> Submission:
        """As the API does it."""
        self.enqueue(wanted := self.recorded(record, requests, within_s))
        return wanted

    def recorded(
        self, record: Submission, requests: Sequence[CorrectionRequest], within_s: float | None = None
    ) -> Submission:
        """Without a key its ids are new."""
        return replace(record, requests=tuple(requests), within_s=within_s, may_be_known=bool(record.key))

    def wait(self, wanted: Submission, timeout_s: float = patient(20)) -> Completion:
        return self.wait_all(wanted, timeout_s)[0]

    def wait_all(self, wanted: Submission, timeout_s: float = patient(20), has_left: bool = False) -> list[Completion]:
        return self.call(self.own.wait(waiting(wanted, timeout_s, has_left)))

    def abandon(self, wanted: Submission) -> None:
        self._in_loop(self.own.abandon, waiting(wanted, patient(20)))

    def cancel(self, request_id: str) -> CancelResult:
        return self.cancel_all([request_id])[0]

    def cancel_all(self, request_ids: Sequence[str]) -> list[CancelResult]:
        ended = self.ask(script("cancel", "", FinishReason.CANCELLED.value, *request_ids))
        return [CancelResult(each.decode()) for each in ended]

    def observe(self) -> Observed:
        return self.call(RedisObserver(self.own.ask).observe())

    def find(self, request_id: str) -> Found | None:
        return self.call(RedisObserver(self.own.ask).find(request_id))

    def close(self) -> None:
        self._in_loop(self.own.close)
        self.loop.call_soon_threadsafe(self.loop.call_later, 2 * LAST_CALLS_S, self.loop.stop)


def ids_of(inbox: Inbox) -> list[str]:
    return [delivery.request.request_id for delivery in inbox.deliveries]


def take(worker: WorkerMailbox, free_tokens: int = AMPLE.tokens, **more: int) -> list[str]:
    """The ids one exchange without answers delivers."""
    return ids_of(worker.exchange((), FreeCapacity(free_tokens, **more)))


def answer(worker: WorkerMailbox, *request_ids: str) -> Inbox:
    return worker.exchange([an_answer(request_id) for request_id in request_ids], NO_CAPACITY)


def eventually(what: Callable[[], T], within_s: float = 5.0, every_s: float = 0.01) -> T:
    """The first true value of `what`; fails when the time is over, as this machine counts it."""
    deadline = time.monotonic() + patient(within_s)
    while not (value := what()):
        assert time.monotonic() < deadline, f"still {value!r} after {within_s:g} s"
        time.sleep(every_s)
    return value


def unblocked(call: Callable[[], T], within_s: float = 30.0) -> T:
    """What it returns or raises; fails where it is still blocked when the time is over."""
    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(call).result(patient(within_s))
    finally:
        pool.shutdown(wait=False)


def take_one(worker: WorkerMailbox, within_s: float = 5.0) -> Delivery:
    """Poll until something is delivered."""
    return eventually(lambda: worker.exchange((), AMPLE, wait_s=0.05).deliveries, within_s)[0]


class SteppedWorkerMailbox(WorkerMailbox):
    """Each exchange waits for its replies, and no claim stands between two steps of a test."""

    def __init__(self, address: Address, **options: float) -> None:
        super().__init__(address, max_block_s=0.0, **options)

    def exchange(
        self,
        completions: Sequence[Completion],
        capacity: FreeCapacity,
        wait_s: float = 0.0,
        progress: Sequence[Progress] = (),
    ) -> Inbox:
        self._claim_at_s = 0.0
        inbox = super().exchange(completions, capacity, max(wait_s, 1.0) if self._is_asked(capacity) else 0.0, progress)
        self._confirm()
        return inbox

    def _is_asked(self, capacity: FreeCapacity) -> bool:
        return bool(self._held or capacity.tokens)


class RedisHouse:
    """Mailboxes that share one queue."""

    def __init__(self, url: str, kind: type[WorkerMailbox] = SteppedWorkerMailbox) -> None:
        self.address = Address(url)
        self._kind = kind
        self.mailboxes: list[SubmittingMailbox | WorkerMailbox] = []

    def connect(self) -> Redis:
        return connect(self.address.url)

    def api(self, limits: MailboxLimits | None = None) -> SubmittingMailbox:
        self.mailboxes.append(mailbox := SubmittingMailbox(self.address, limits))
        return mailbox

    def worker(
        self, report: Callable[[], WorkerReport] = WorkerReport, is_fresh: Callable[[], bool] = lambda: True
    ) -> WorkerMailbox:
        self.mailboxes.append(mailbox := self._kind(self.address))
        mailbox.open(is_fresh, report)
        mailbox.exchange((), NO_CAPACITY)  # registers the epoch of its claims
        return mailbox

    def end_deadline(self, job_id: str) -> None:
        """The deadline of a job is over, at any speed of the machine."""
        self.connect().hset(f"rq:job:{job_id}", mapping={"deadline": 1, "special": 1})  # in 1970

    def close(self) -> None:
        for mailbox in self.mailboxes:
            mailbox.close()
