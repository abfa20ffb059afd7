"""The API's end of the Redis mailbox, in the event loop of its process."""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from scheduler.errors import NotReady, QueueFull, RateLimited, RequestFailed, ServingError
from scheduler.messages import FinishReason, Progress, WireError
from worker.queue import admission, formats
from worker.queue.admission import KnownRefusals
from worker.queue.api_link import Link
from worker.queue.api_mailbox import ApiMailbox
from worker.queue.connection import Address, Command, refusal_of, script
from worker.queue.line import ResponseError
from worker.queue.protocol import (
    MailboxDown,
    MailboxLimits,
    MailboxStatus,
    ReplyMode,
    Submission,
)

logger = logging.getLogger(__name__)
SUBMIT_PATIENCE_S = 2.0  # spans a Redis that is being restarted
_UNREACHABLE = "Redis does not answer; try again shortly."
_MOST_LOOK_UPS = 256  # in one command
_MOST_ASKING = 2  # queues: what is refused for its client's share takes no place from others


class RedisApiMailbox(ApiMailbox):
    """The mailbox over a queue."""

    def __init__(self, address: Address, limits: MailboxLimits | None = None) -> None:
        super().__init__()
        self._limits = limits or MailboxLimits()
        self._address = address
        self._channel = f"miniserve:reply:{os.getpid()}-{secrets.token_hex(6)}"
        self._refusals = KnownRefusals()

    def begin(self) -> None:
        super().begin()
        self._link = Link(self._address, self._channel, self._limits, self._hear, self._poll)

    def status(self, asked: MailboxStatus) -> MailboxStatus:
        """With a refusal if this process cannot hear answers: each request would get 503."""
        refusal = self._link.refusal
        return replace(asked, redis_ok=False, refusal=refusal) if asked.redis_ok and refusal else asked

    def known_refusal(self, client: str = "") -> QueueFull | RateLimited | None:
        if self._is_closed:
            return None
        if self._link.num_waiting >= _MOST_ASKING * self._limits.max_requests:
            return admission.too_many_asking(self._limits.max_requests)
        return self._refusals.refusal(client)

    async def ask(self, command: Command) -> Any:
        return (await self._ask(command))[0]

    async def _ask(self, what: Command | Submission, patience_s: float = SUBMIT_PATIENCE_S) -> tuple[Any, str]:
        """Ask as `Link.ask` does. Raises NotReady."""
        try:
            return await self._link.ask(what, patience_s)
        except MailboxDown as error:
            raise _not_ready(error) from error

    def close(self) -> None:
        super().close()
        self._link.stop()

    async def enqueue(self, wanted: Submission) -> None:
        """Send the jobs, and wait until Redis has accepted them; for those of a plain request `wait` does."""
        if self._is_closed:
            raise admission.shutting_down()
        admission.check_that_it_may_fit(wanted.requests, self._limits, wanted.manner is ReplyMode.ASYNC)
        patience_s = min(SUBMIT_PATIENCE_S, wanted.left_s())
        self._add(wanted)
        if wanted.manner is ReplyMode.WAIT and not wanted.may_be_known and len(wanted.requests) == 1:
            self._link.post(wanted, patience_s, self._note_reply)
            return
        try:
            reply, run_id = await self._ask(wanted, patience_s)
            if reply[0] != b"known":
                self._conclude(wanted, reply, run_id)
                return
        except BaseException as error:
            # Redis may have accepted it all the same; with a key the client comes back for it.
            is_unknown = wanted.may_be_known if isinstance(error, NotReady) else not isinstance(error, ServingError)
            if is_unknown and not wanted.key:
                self.abandon(wanted)
            else:
                self._remove(wanted)
            if isinstance(error, NotReady) and not wanted.left_s():  # its own deadline ended the wait, not Redis
                raise admission.expired() from error
            raise
        self._remove(wanted)
        wanted.join(reply[1].decode())
        await self.enqueue(wanted)

    def _cancel(self, job_ids: Sequence[str], why: FinishReason) -> None:
        self._link.post(script("cancel", self._channel, why.value, *job_ids), SUBMIT_PATIENCE_S)

    def _note_reply(self, wanted: Submission, reply: Any, run_id: str) -> None:
        """The reply to a plain request, which gets its refusal for an answer."""
        if isinstance(reply, Exception) and not wanted.left_s():
            return  # its own deadline ended the wait, not Redis: `wait` raises that, and cancels it
        try:
            self._conclude(wanted, reply, run_id)
        except ServingError as refusal:
            for job_id in wanted.outcomes:
                self._resolve(job_id, refusal)

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
            requests, tokens, rate = facts[0], facts[1], float(facts[2])
            full = partial(admission.queue_full, requests, tokens, rate, self._limits)
            if admission.fits_nothing(requests, tokens, self._limits):
                return self._refusals.note_full(full, admission.backlog_s(tokens, rate))
            return full()
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
                job_id = line[1:].decode()
                self._look_for([(job_id, wanted) for wanted in self._by_id.get(job_id, ())[:1]])
            else:
                self._read(line)

    def _read(self, payload: bytes) -> None:
        try:
            news = formats.decode_news(payload)
        except WireError as error:  # whose it is will be found by the poll
            logger.error("an answer cannot be read: %s", error)
            return
        if isinstance(news, Progress):
            self._note_progress(news)
        else:
            self._refusals.note_end()
            self._resolve(news.request_id, news)

    def _poll(self, older_than_s: float) -> None:
        self._look_for(self._unanswered(older_than_s))

    def _look_for(self, jobs: Sequence[tuple[str, Submission]]) -> None:
        # Only those whose request was accepted: a run id is there. The others' ENQUEUE is still under way.
        accepted = [job for job in jobs if job[1].run_id]
        for first in range(0, len(accepted), _MOST_LOOK_UPS):
            asked = accepted[first : first + _MOST_LOOK_UPS]
            command = script("check", *(job_id for job_id, _ in asked))
            self._link.post(command, SUBMIT_PATIENCE_S, partial(self._learn, asked, time.monotonic()))

    def _learn(self, asked: list[tuple[str, Submission]], asked_s: float, _: Any, states: Any, run_id: str) -> None:
        if isinstance(states, Exception):
            return  # the next poll asks again
        lost: dict[int, Submission] = {}
        for (job_id, wanted), (state, payload) in zip(asked, states, strict=True):
            outcome = formats.outcome_of(job_id, state, payload)
            if outcome is not None:
                self._resolve(job_id, outcome, asked_s)
            elif state == b"gone" and wanted.run_id == run_id:
                self._resolve(job_id, admission.removed(), asked_s)
            elif state == b"gone":
                lost[id(wanted)] = wanted
        for wanted in lost.values():  # Redis was restarted and has lost its last moments
            wanted.may_be_known, wanted.limits = True, ""  # it was let in, and its key has paid for it
            self._link.post(wanted, SUBMIT_PATIENCE_S, self._note_second_reply)

    def _note_second_reply(self, wanted: Submission, reply: Any, run_id: str) -> None:
        """The reply to a request that Redis had accepted before; where there is none the next poll tries again."""
        if isinstance(reply, Exception):
            return
        if reply[0] in (b"known", b"conflict"):
            wanted.key = ""  # another request with the same key came first: these jobs run, too
        elif reply[0] in (b"accepted", b"attached"):
            wanted.run_id = run_id


def _not_ready(error: Exception) -> NotReady:
    is_refusal = isinstance(error, ResponseError) or isinstance(error.__cause__, ResponseError)
    why = "Redis takes nothing new, it may be out of memory; try again shortly." if is_refusal else _UNREACHABLE
    return NotReady(refusal_of(error) or why, 1.0)
