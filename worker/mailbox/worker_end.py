"""The worker's end of the Redis mailbox: one pipelined round trip per decode iteration.

`exchange` sends FINISH and DRAIN in one packet. Whatever may have been lost with a broken connection, or taken by
others while this process was stopped, is found by RESYNC in the first exchange afterwards; until then no new work is
taken, so that an id is never held twice.

State: what was delivered and not answered (`_held`), answers Redis has not confirmed (`_unsent`), and ids that were
cancelled or taken from us while we held them (`_disowned`): their late answers are dropped here.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from math import inf
from typing import Any

from redis import Redis, ResponseError

from scheduler.messages import Completion, Delivery, FinishReason, Inbox, Progress, Room, WireError
from worker.mailbox import formats
from worker.mailbox.heartbeat import Heartbeat
from worker.mailbox.line import Command, Line, LineDown, script
from worker.mailbox.protocol import LEASE_S, MAX_ATTEMPTS, MAX_BLOCK_S, MailboxDown, WorkerReport
from worker.mailbox.rates import ServiceRate
from worker.mailbox.traces import Traces

logger = logging.getLogger(__name__)

_LEAVE_PATIENCE_S = 1.0
_LEAVE_PAUSE_S = 0.3
_LOOK_AGAIN_S = 0.02
_LONGEST_HOLD_OFF_S = 0.2
_NEWEST_WEIGHT = 0.1  # of one request in the mean of the last ten, about


def new_worker_name() -> str:
    """Never used twice: the leases and rq:wip know a worker by it. A colon would end the id in rq:wip."""
    host = "".join(letter if letter.isalnum() else "-" for letter in socket.gethostname())
    return f"{host}-{os.getpid()}-{secrets.token_hex(3)}"


class RedisWorkerMailbox:
    """Keeps the WorkerMailbox protocol."""

    def __init__(
        self,
        client: Redis,
        name: str | None = None,
        lease_s: float = LEASE_S,
        batch_invariance: str = "",
        traces: Traces | None = None,
    ) -> None:
        self.name = name or new_worker_name()
        self.num_duplicates = 0  # answers Redis dropped because another one was first
        self._lease_s = lease_s
        self._line = Line(client)
        self._heartbeat = Heartbeat(Line(client), self.name, lease_s, self._on_lease_lost, traces)
        self._heartbeat.batch_invariance = batch_invariance
        self._rate = ServiceRate()
        self._service_s = 0.0  # from the start to the end of a request, lately
        self._held: set[str] = set()
        self._suspects: set[str] = set()  # of those it ever held: an earlier worker died with them
        self._unsent: dict[str, Completion] = {}
        self._disowned: set[str] = set()
        self._needs_resync = False
        self._num_failures = 0
        self._retry_s = 0.0  # before it nothing is tried

    def open(self, is_fresh: Callable[[], bool], report: Callable[[], WorkerReport] = WorkerReport) -> None:
        try:
            self._heartbeat.start(is_fresh, report)
        except LineDown as error:
            raise MailboxDown(str(error)) from error

    def exchange(
        self,
        completions: Sequence[Completion],
        room: Room,
        num_held: int,
        wait_s: float = 0.0,
        progress: Sequence[Progress] = (),
    ) -> Inbox:
        self._accept_answers(completions)
        self._heartbeat.num_held, self._heartbeat.turned_s = num_held, time.monotonic()
        self._suspects &= self._held
        tokens = room.tokens if room.requests and not self._suspects else 0
        about = (tokens, int(room.may_look_ahead), room.requests, len(self._held), f"{self._service_s:.3f}")
        drain = script("drain", self.name, self._lease_s, *about)
        inbox = self._round_trip(drain, self._tell_commands(progress))
        if wait_s > 0 and not inbox.deliveries and not inbox.cancelled_ids:
            if self._held:  # a claim would bring whatever comes first, a suspect too
                time.sleep(min(wait_s, _LOOK_AGAIN_S))
            elif self._claim(wait_s):
                inbox = self._round_trip(drain)
        if inbox.deliveries or num_held:
            self._rate.begin(time.monotonic())
        else:
            self._rate.pause()
        return inbox

    def _claim(self, wait_s: float) -> bool:
        """Whether a request came within the time."""
        block_s = max(0.01, min(wait_s, MAX_BLOCK_S))  # 0 would block for ever
        command = ("BLMOVE", "rq:queue:correct", f"miniserve:claim:{self.name}", "LEFT", "RIGHT", block_s)
        return self._ask(command)[0] is not None

    def give_back(self, completions: Sequence[Completion]) -> None:
        self._accept_answers(completions)
        self._held.clear()
        replies = self._ask(*self._finish_commands(), script("give_back", self.name))
        if self._unsent:
            self._note_finished(replies[0])

    def close(self) -> None:
        self._heartbeat.stop()
        give_up_s = time.monotonic() + _LEAVE_PATIENCE_S  # a Redis that hangs is asked once, one that restarts again
        while not self._has_left():
            if time.monotonic() > give_up_s:
                logger.warning("could not leave the queue in order; the lease will do it")
                break
            time.sleep(_LEAVE_PAUSE_S)
        self._line.close()

    def _has_left(self) -> bool:
        try:
            self._ask(*self._finish_commands(), script("leave", self.name))
        except MailboxDown:
            return False
        return True

    def _accept_answers(self, completions: Iterable[Completion]) -> None:
        for completion in completions:
            if completion.request_id in self._disowned:
                self._disowned.discard(completion.request_id)
                continue
            self._held.discard(completion.request_id)
            self._unsent[completion.request_id] = completion
            if completion.finish_reason in (FinishReason.STOP, FinishReason.LENGTH):
                lately_s = completion.timings.prefill_s + completion.timings.decode_s
                self._service_s += _NEWEST_WEIGHT * (lately_s - self._service_s)

    def _round_trip(self, drain: Command, tell: Sequence[Command] = ()) -> Inbox:
        resyncs = self._needs_resync
        last = script("resync", self.name, self._lease_s, *self._held) if resyncs else drain
        finish = self._finish_commands()
        replies = self._send(*finish, *tell, last)
        if finish:
            self._note_finished(self._checked(replies[0]))
        reply = self._checked(replies[-1])
        if resyncs:
            self._needs_resync = False
            return self._after_resync(*reply)
        lost_lease, cancelled, deliveries = reply
        if lost_lease:
            self._on_lease_lost()
            return self._round_trip(drain)
        return Inbox(self._open_deliveries(deliveries), self._settle_cancelled(cancelled))

    def _settle_cancelled(self, cancelled: list[bytes]) -> tuple[str, ...]:
        """The answer to a cancelled request goes out with the next exchange, whatever the worker makes of it."""
        request_ids = tuple(request_id for request_id in map(bytes.decode, cancelled) if request_id in self._held)
        self._accept_answers(Completion(request_id, FinishReason.CANCELLED) for request_id in request_ids)
        self._disowned.update(request_ids)
        return request_ids

    def _after_resync(self, disowned: list[bytes], deliveries: list[Any]) -> Inbox:
        lost = tuple(map(bytes.decode, disowned))
        self._held.difference_update(lost)
        self._disowned.update(lost)
        logger.warning("resynced: %d requests were given to others, %d came again", len(lost), len(deliveries))
        return Inbox(self._open_deliveries(deliveries), lost)

    def _open_deliveries(self, raw_deliveries: list[Any]) -> tuple[Delivery, ...]:
        deliveries, failures = [], []
        for raw_id, *fields in raw_deliveries:
            request_id = raw_id.decode()
            if request_id in self._held:
                continue  # taken from us, put back, and ours again: it still runs here
            self._disowned.discard(request_id)
            try:
                deliveries.append(_open_delivery(request_id, fields))
                self._held.add(request_id)
                if deliveries[-1].attempt > 1:
                    self._suspects.add(request_id)
            except WireError as error:
                logger.error("request failed: %s", error, extra={"request_id": request_id})
                failures.append(Completion(request_id, FinishReason.ERROR, error=str(error)))
        if failures:
            self._accept_answers(failures)
            with suppress(MailboxDown):  # they stay unsent; what was delivered beside them must not be lost
                self._note_finished(self._ask(*self._finish_commands())[0])
        return tuple(deliveries)

    def _finish_commands(self) -> list[Command]:
        if not self._unsent:
            return []
        arguments = [word for completion in self._unsent.values() for word in formats.finish_arguments(completion)]
        return [script("finish", self.name, *arguments)]

    def _tell_commands(self, progress: Sequence[Progress]) -> list[Command]:
        if not progress:
            return []
        arguments = [word for each in progress for word in (each.request_id, formats.encode_progress(each))]
        return [script("tell", self.name, *arguments)]

    def _note_finished(self, reply: list[int]) -> None:
        num_duplicates, released_tokens = reply
        self.num_duplicates += num_duplicates
        self._unsent.clear()
        self._rate.add(released_tokens, time.monotonic())
        self._heartbeat.tokens_per_s = self._rate.tokens_per_s

    def _ask(self, *commands: Command) -> list[Any]:
        """The replies; raises MailboxDown also where Redis refused one of the commands."""
        return [self._checked(reply) for reply in self._send(*commands)]

    def _checked(self, reply: Any) -> Any:
        if isinstance(reply, ResponseError):  # out of memory, read-only: this script did not run
            self._needs_resync = True
            self._rate.pause()
            raise MailboxDown(str(reply)) from reply
        return reply

    def _send(self, *commands: Command) -> list[Any]:
        if time.monotonic() < self._retry_s:
            raise MailboxDown("Redis did not answer a moment ago")
        try:
            replies = self._line.ask(*commands)
        except LineDown as error:
            self._needs_resync = True
            self._rate.pause()  # answers that cannot be given are no work
            self._hold_off()
            raise MailboxDown(str(error)) from error
        self._num_failures = 0
        return replies

    def _hold_off(self) -> None:
        """Try again at once, then ever later: a busy loop must not spend its iterations on a Redis that is away."""
        self._retry_s = time.monotonic() + min(_LONGEST_HOLD_OFF_S, 0.02 * self._num_failures)
        self._num_failures += 1

    def _on_lease_lost(self) -> None:
        logger.warning("the lease of %s ran out; its requests may have been given to others", self.name)
        self._needs_resync = True


def _open_delivery(request_id: str, fields: list[Any]) -> Delivery:
    """`fields`: as DRAIN and RESYNC give them. Raises WireError."""
    attempt, waited_us, raw, streams, left_us = fields
    if attempt > MAX_ATTEMPTS:
        raise WireError(f"gave up after {MAX_ATTEMPTS} attempts; the workers that ran it died or failed")
    left_s = inf if left_us < 0 else left_us / 1e6
    return Delivery(formats.decode_request(raw, request_id), attempt, waited_us / 1e6, left_s, streams == b"1")
