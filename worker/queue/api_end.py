"""The API's end of the Redis mailbox: one subscription and one coalescing sender per process, in its event loop.

`begin` gives it the loop of a server; where nobody does, the first call starts one in a thread. Threads call what has
no `async`, the loop itself what has.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

from scheduler.errors import NotReady, QueueFull, RateLimited, RequestFailed, ServingError
from scheduler.messages import FinishReason, Progress, WireError
from worker.queue import admission, formats, replies
from worker.queue.admission import KnownRefusals
from worker.queue.api_listener import Listener
from worker.queue.api_loop import LAST_CALLS_S, Sender, loop_in_a_thread
from worker.queue.connection import Command, RedisConnection, Where, refusal_of, script
from worker.queue.line import ResponseError
from worker.queue.protocol import (
    READY_WITHIN_S,
    CancelResult,
    MailboxDown,
    MailboxLimits,
    MailboxStatus,
    ReplyMode,
    Submission,
)
from worker.queue.waiters import WaitingMailbox

logger = logging.getLogger(__name__)
SUBMIT_PATIENCE_S = 2.0  # spans a Redis that is being restarted
_UNREACHABLE = "Redis does not answer; try again shortly."
STATUS_PATIENCE_S = 0.5
_MOST_LOOK_UPS = 256  # in one command
MOST_THREADS = 256  # that wait, one for each request of the loop that is not plain, until Redis has accepted it
_MOST_ASKING = 2  # queues: what is refused for its client's share takes no place from others


class RedisApiMailbox(WaitingMailbox):
    """Keeps the ApiMailbox protocol."""

    def __init__(self, where: Where, limits: MailboxLimits | None = None) -> None:
        super().__init__()
        self._limits = limits or MailboxLimits()
        self._is_closed = False
        self._where = where
        self._channel = f"miniserve:reply:{os.getpid()}-{secrets.token_hex(6)}"
        self._refusals = KnownRefusals()
        self._ends: tuple[Sender, Listener] | None = None
        self._own_loop: asyncio.AbstractEventLoop | None = None
        self._beginning = threading.Lock()
        self._askers = ThreadPoolExecutor(MOST_THREADS)  # those of the loop are few, and long texts need them

    def begin(self, loop: asyncio.AbstractEventLoop | None = None) -> tuple[Sender, Listener]:
        """Subscribe, in this loop; once for each mailbox."""
        with self._beginning:
            if self._ends is None:
                if loop is None:
                    loop = self._own_loop = loop_in_a_thread()
                sender = Sender(loop, RedisConnection(self._where), self._channel, self._limits)
                self._ends = sender, Listener(loop, self._where, self._channel, self._hear, self._poll)
            return self._ends

    @property
    def _sender(self) -> Sender:
        return (self._ends or self.begin())[0]

    @property
    def _listener(self) -> Listener:
        return (self._ends or self.begin())[1]

    def check_hearing(self, status: MailboxStatus) -> MailboxStatus:
        refusal = self._ends[1].refusal if self._ends is not None else ""
        return replace(status, redis_ok=False, refusal=refusal) if status.redis_ok and refusal else status

    def known_refusal(self, client: str = "") -> QueueFull | RateLimited | None:
        if self._is_closed:
            return None
        if self._ends is not None and self._sender.num_waiting >= _MOST_ASKING * self._limits.max_requests:
            return admission.too_many_asking(self._limits.max_requests)
        return self._refusals.refusal(client)

    def abandon(
        self, wanted: Submission, why: FinishReason = FinishReason.CANCELLED, job_ids: Sequence[str] | None = None
    ) -> None:
        if left := self._waiters.remove(wanted, job_ids):
            self._sender.post(script("cancel", self._channel, why.value, *left), SUBMIT_PATIENCE_S)

    def cancel_all(self, request_ids: Sequence[str]) -> list[CancelResult]:
        # Without a channel the jobs end for everybody.
        ended = self.ask(script("cancel", "", FinishReason.CANCELLED.value, *request_ids)) if request_ids else []
        return [CancelResult(each.decode()) for each in ended]

    def status(self) -> MailboxStatus:
        try:
            reply, _ = self._sender.ask(script("status", READY_WITHIN_S), STATUS_PATIENCE_S)
        except MailboxDown as error:
            return MailboxStatus(redis_ok=False, refusal=refusal_of(error))
        return self.check_hearing(replies.status_of(reply))

    def close(self) -> None:
        self._is_closed = True
        self._waiters.shut_down()
        if self._ends is None:
            return
        sender, listener = self._ends
        listener.stop()
        sender.stop()
        if self._own_loop is not None:
            self._own_loop.call_soon_threadsafe(self._own_loop.call_later, 2 * LAST_CALLS_S, self._own_loop.stop)
            self._own_loop = None

    def enqueue(self, wanted: Submission) -> None:
        if self._is_closed:
            raise admission.shutting_down()
        for request in wanted.requests:
            formats.check_request_id(request.request_id)
        admission.check_that_it_may_fit(wanted.requests, self._limits)
        self._accept(wanted)

    async def enqueue_soon(self, wanted: Submission) -> None:
        if not self._is_closed and not await self._listener.be_subscribed(_patience_s(wanted)):
            raise self._unheard()
        if self._is_plain(wanted):
            self.enqueue(wanted)  # it waits for nothing
        else:
            await asyncio.get_running_loop().run_in_executor(self._askers, self.enqueue, wanted)

    @staticmethod
    def _is_plain(wanted: Submission) -> bool:
        return wanted.manner is ReplyMode.WAIT and not wanted.may_be_known and len(wanted.requests) == 1

    def _accept(self, wanted: Submission) -> None:
        """Enqueue, and wait until Redis has accepted, but for a plain request: its wait for the answer does."""
        patience_s = _patience_s(wanted)
        if not self._listener.wait_until_subscribed(patience_s):
            raise self._unheard()
        self._waiters.add(wanted)
        if self._is_plain(wanted):
            self._sender.post(wanted, patience_s, self._note_reply)
            return
        try:
            reply, run_id = self._ask(wanted, patience_s)
            if reply[0] != b"known":
                self._conclude(wanted, reply, run_id)
                return
        except BaseException:
            self._waiters.remove(wanted)
            raise
        self._waiters.remove(wanted)
        wanted.join(reply[1].decode())
        self._accept(wanted)

    def _unheard(self) -> NotReady:
        return NotReady(self._listener.refusal or _UNREACHABLE, 1.0)

    def ask(self, command: Command) -> Any:
        """The reply to a command of somebody else's. Raises NotReady."""
        return self._ask(command)[0]

    def _ask(self, what: Command | Submission, patience_s: float = SUBMIT_PATIENCE_S) -> tuple[Any, str]:
        """Ask as the sender's `ask` does. Raises NotReady."""
        try:
            return self._sender.ask(what, patience_s)
        except MailboxDown as error:
            raise _not_ready(error) from error

    def _note_reply(self, wanted: Submission, reply: Any, run_id: str) -> None:
        """The reply to a plain request, which gets its refusal for an answer."""
        try:
            self._conclude(wanted, reply, run_id)
        except ServingError as refusal:
            for job_id in wanted.outcomes:
                self._waiters.resolve(job_id, refusal)

    def _conclude(self, wanted: Submission, reply: Any, run_id: str) -> None:
        """ENQUEUE has replied. Raises the refusal."""
        if isinstance(reply, Exception):
            raise _not_ready(reply) from reply
        if reply[0] not in (b"accepted", b"attached"):
            raise self._refusal(wanted, *reply)
        wanted.accepted_s = time.perf_counter()
        wanted.run_id = run_id
        if reply[0] == b"attached":  # the answer may be older than the subscription
            self._look_for([(job_id, wanted) for job_id in wanted.outcomes])

    def _refusal(self, wanted: Submission, kind: bytes, *facts: Any) -> ServingError:
        if kind == b"conflict":
            return admission.conflict()
        if kind == b"full":
            full = partial(admission.queue_full, facts[0], facts[1], float(facts[2]), self._limits)
            is_full = admission.fits_nothing(facts[0], facts[1], self._limits)
            return self._refusals.note_full(full) if is_full else full()
        if kind == b"share":
            words = partial(admission.over_share, facts[0], facts[1], float(facts[2]), self._limits)
            return self._refusals.note(words, admission.SHARE_HOLDS_S, wanted.client)
        if kind == b"limit":
            words = partial(admission.over_limit, facts[0].decode(), float(facts[1]), facts[2] / 1e3)
            return self._refusals.note(words, min(facts[2] / 1e3, admission.LONGEST_LIMIT_S), wanted.client)
        if kind == b"memory":
            return admission.memory_full(facts[0], facts[1], self._limits.result_ttl_s)
        if kind == b"late":
            return admission.too_late(facts[0], float(facts[1]), wanted.within_s or 0.0)
        logger.error("the queue cannot read a request: %s", facts[0].decode(errors="replace"))
        return RequestFailed("The queue cannot read this request.")

    def _hear(self, message: bytes) -> None:
        for line in message.split(b"\n"):
            if line.startswith(b"-"):  # a job that ended without an answer, unless it was sent again meanwhile
                self._look_for(self._waiters.of(line[1:].decode()))
            else:
                self._resolve(line)

    def _resolve(self, payload: bytes) -> None:
        try:
            news = formats.decode_news(payload)
        except WireError as error:  # whose it is will be found by the poll
            logger.error("an answer cannot be read: %s", error)
            return
        if isinstance(news, Progress):
            self._waiters.hear(news)
        else:
            self._refusals.note_end()
            self._waiters.resolve(news.request_id, news)

    def _poll(self, older_than_s: float) -> None:
        self._look_for(self._waiters.unanswered(older_than_s))

    def _look_for(self, jobs: Sequence[tuple[str, Submission]]) -> None:
        # Only those whose request was accepted: a run id is there. The others' ENQUEUE is still under way.
        accepted = [job for job in jobs if job[1].run_id]
        for first in range(0, len(accepted), _MOST_LOOK_UPS):
            asked = accepted[first : first + _MOST_LOOK_UPS]
            command = script("check", *(job_id for job_id, _ in asked))
            self._sender.post(command, SUBMIT_PATIENCE_S, partial(self._learn, asked, time.monotonic()))

    def _learn(self, asked: list[tuple[str, Submission]], asked_s: float, _: Any, states: Any, run_id: str) -> None:
        if isinstance(states, Exception):
            return  # the next poll asks again
        lost: dict[int, Submission] = {}
        for (job_id, wanted), (state, payload) in zip(asked, states, strict=True):
            outcome = replies.outcome_of(job_id, state, payload)
            if outcome is not None:
                self._waiters.resolve(job_id, outcome, asked_s)
            elif state == b"gone" and wanted.run_id == run_id:
                self._waiters.resolve(job_id, admission.removed(), asked_s)
            elif state == b"gone":
                lost[id(wanted)] = wanted
        for wanted in lost.values():  # Redis was restarted and has lost its last moments
            wanted.may_be_known, wanted.limits = True, ""  # it was let in, and its key has paid for it
            self._sender.post(wanted, SUBMIT_PATIENCE_S, self._note_second_reply)

    def _note_second_reply(self, wanted: Submission, reply: Any, run_id: str) -> None:
        """The reply to a request that Redis had accepted before; where there is none the next poll tries again."""
        if isinstance(reply, Exception):
            return
        if reply[0] in (b"known", b"conflict"):
            wanted.key = ""  # another request with the same key came first: these jobs run, too
        elif reply[0] in (b"accepted", b"attached"):
            wanted.run_id = run_id


def _patience_s(wanted: Submission) -> float:
    return SUBMIT_PATIENCE_S if wanted.within_s is None else min(SUBMIT_PATIENCE_S, wanted.within_s)


def _not_ready(error: Exception) -> NotReady:
    is_refusal = isinstance(error, ResponseError) or isinstance(error.__cause__, ResponseError)
    why = "Redis takes nothing new, it may be out of memory; try again shortly." if is_refusal else _UNREACHABLE
    return NotReady(refusal_of(error) or why, 1.0)
