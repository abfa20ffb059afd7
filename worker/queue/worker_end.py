"""The worker's end of the Redis mailbox: it sends and receives while the model computes.

Two connections. On one FINISH goes out; its reply is read by the next exchange. On the other a claim stands whenever
there is capacity: BLMOVE, which Redis answers when something waits, with DRAIN right behind it, which takes all that
waits and fits. So an iteration in which nothing comes costs Redis nothing, a lone request costs one sleep, and a full
worker claims nothing.

What was lost with a broken connection, or taken by others while this process was stopped, RESYNC finds in the first
exchange afterwards; until then no new work is taken, so that an id is never held twice. Each RESYNC begins an epoch;
Redis ignores a DRAIN of an earlier one. Late answers to ids that are no longer ours (`_disowned`) are dropped here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

from scheduler.messages import Completion, Delivery, FinishReason, FreeCapacity, Inbox, Progress, WireError
from worker.queue import formats
from worker.queue.connection import Address, Command, RedisConnection, checked, script
from worker.queue.heartbeat import Heartbeat, new_name
from worker.queue.line import ResponseError
from worker.queue.protocol import ASYNC_TOKENS, LEASE_S, MAX_BLOCK_S, MailboxDown, WorkerReport

logger = logging.getLogger(__name__)

_LEAVE_PATIENCE_S = 1.0
_LEAVE_PAUSE_S = 0.3
_LONGEST_HOLD_OFF_S = 0.2
_BUSY_CLAIM_S = 0.05  # how long a claim stands while something runs: with its end the worker hears of cancellations
_IDLE_CLAIM_S = 0.1  # for as long an asynchronous request may wait for a worker that holds nothing
_ASYNC_CLAIM_S = 0.005  # while asynchronous requests wait, for which no claim stands
_CLAIM_AGAIN_S = 0.02  # after a claim that found only what must wait, or was refused
_NEWEST_WEIGHT = 0.1  # of one request in the mean of the last ten, about


class WorkerMailbox:
    """The worker's end. Used from one thread."""

    _queue = "rq:queue:correct"  # that it takes from

    def __init__(self, address: Address, max_block_s: float = MAX_BLOCK_S) -> None:
        """`max_block_s`: how long a claim may stand; with 0 each takes what is there and ends."""
        self.name = new_name()
        self._max_block_s = max_block_s
        self._outgoing = RedisConnection(address)
        self._claims = RedisConnection(address)
        self._heartbeat = Heartbeat(RedisConnection(address), self.name, LEASE_S, self._on_lease_lost)
        self._service_s = 0.0  # from the start to the end of a request, lately
        self._held: dict[str, bytes] = {}  # what FINISH needs to know of each: the ticket of its delivery
        self._suspects: set[str] = set()  # an earlier worker died with them
        self._unsent: dict[str, tuple[Any, ...]] = {}  # what FINISH takes for each
        self._in_flight: dict[str, tuple[Any, ...]] = {}
        self._disowned: set[str] = set()
        self._needs_resync = True
        self._epoch = 0
        self._asynchronous: set[str] = set()  # of what is held, those that nobody waits for
        self._num_async_waiting = 0  # in the queue, at the last DRAIN
        self._had_async = False  # the last delivery: a worker with one slot takes turns
        self._budget_tokens = 0  # the most capacity there ever was
        self._claim_at_s = 0.0  # before it no claim is made
        self._num_failures, self._retry_s = 0, 0.0  # nothing is tried before that time

    def open(self, is_fresh: Callable[[], bool], report: Callable[[], WorkerReport] = WorkerReport) -> None:
        """Register; beat, and call `report`, in another thread while `is_fresh()`: a hung loop loses its lease."""
        self._heartbeat.start(is_fresh, report)

    def exchange(
        self,
        completions: Sequence[Completion],
        capacity: FreeCapacity,
        wait_s: float = 0.0,
        progress: Sequence[Progress] = (),
    ) -> Inbox:
        """Give answers, take what has come since the last call; waits up to `wait_s` (at most MAX_BLOCK_S) for it.

        Delivers at most this worker's share, as long as it fits into `capacity`; what an earlier worker died with comes
        in groups, each alone. `progress` is not stored. A completion for an id in `cancelled_ids` is ignored. Raises
        MailboxDown; the completions are then sent by the next call, and so are those not confirmed before.
        """
        self._accept_answers(completions)
        self._suspects &= self._held.keys()
        self._asynchronous &= self._held.keys()
        self._budget_tokens = max(self._budget_tokens, capacity.tokens)
        self._heartbeat.num_held, self._heartbeat.last_iteration_s = len(self._held), time.monotonic()
        if self._needs_resync and not (inbox := self._resync()).is_empty:
            with suppress(MailboxDown):  # as below
                self._send()
            return inbox
        self._confirm()
        if wait_s > 0:  # else all of it goes out in one packet
            self._send(progress)
        inbox = self._take_in(capacity, wait_s)
        with suppress(MailboxDown):  # what was delivered is not lost: the next exchange finds Redis away
            if wait_s <= 0 or self._unsent:  # what could not be opened, or was cancelled
                self._confirm()
                self._send(() if wait_s > 0 else progress)
        return inbox

    def _take_in(self, capacity: FreeCapacity, wait_s: float) -> Inbox:
        """What the standing claim has brought, while the next one begins to stand; where nothing has come, wait."""
        inbox = self._receive(0.0) if self._claims.is_waiting else Inbox()
        if inbox.is_empty and (self._claims.is_waiting or self._claim(capacity, inbox)):
            until_s = time.monotonic() + wait_s
            while inbox.is_empty and (left_s := until_s - time.monotonic()) > 0:
                inbox = self._receive(left_s)
                is_over = inbox.is_empty and not self._claims.is_waiting
                if is_over and (self._max_block_s == 0 or not self._claim(capacity, inbox)):
                    break
        elif inbox.is_empty and wait_s > 0:
            time.sleep(min(wait_s, _CLAIM_AGAIN_S))
        if not inbox.is_empty and self._max_block_s > 0:
            with suppress(MailboxDown):  # as above
                self._claim(capacity, inbox)
        return inbox

    def give_back(self, completions: Sequence[Completion]) -> None:
        """The engine failed: these answers are sent, and all else that is held returns to the queue, as after a death.
        With MailboxDown it comes again with the next exchange, under no suspicion."""
        self._accept_answers(completions)
        self._held.clear()
        self._needs_resync = True  # what a standing claim brings meanwhile comes again with RESYNC
        self._ask(script("leave", self.name, "1"))

    def close(self) -> None:
        """Leave: unfinished requests go back to the queue. Gives up in a few seconds if Redis is down; never raises."""
        self._heartbeat.stop()
        self._claims.close()
        give_up_s = time.monotonic() + _LEAVE_PATIENCE_S  # a Redis that hangs is asked once, one that restarts again
        while True:
            try:
                self._ask(script("leave", self.name))
                break
            except MailboxDown:
                if time.monotonic() > give_up_s:
                    logger.warning("Redis did not answer at the end; what is held comes back when the lease ends")
                    break
            time.sleep(_LEAVE_PAUSE_S)
        self._outgoing.close()

    def _accept_answers(self, completions: Iterable[Completion]) -> None:
        for completion in completions:
            if completion.request_id in self._disowned:
                self._disowned.discard(completion.request_id)
                continue
            ticket = self._held.pop(completion.request_id, b"")
            self._claim_at_s = 0.0  # there is capacity that was not there before
            self._unsent[completion.request_id] = (*formats.finish_arguments(completion), ticket)
            self._heartbeat.num_failed += completion.finish_reason is FinishReason.ERROR
            if completion.finish_reason in (FinishReason.STOP, FinishReason.LENGTH):
                self._heartbeat.num_successful += 1
                lately_s = completion.timings.prefill_s + completion.timings.decode_s
                self._service_s += _NEWEST_WEIGHT * (lately_s - self._service_s)

    def _send(self, progress: Sequence[Progress] = ()) -> None:
        """Send the answers that wait to be sent, without waiting for Redis."""
        commands: list[Command] = []
        if self._unsent:
            commands.append(script("finish", self.name, *chain.from_iterable(self._unsent.values())))
        if progress:
            words = [(one.request_id, formats.encode_progress(one)) for one in progress]
            commands.append(script("progress", self.name, *chain.from_iterable(words)))
        if commands:
            self._guarded(lambda: self._outgoing.send(*commands))
            self._in_flight, self._unsent = self._in_flight | self._unsent, {}

    def _confirm(self) -> list[Any]:
        """Read the replies to what was sent last, and return those behind the reply to FINISH."""
        replies = self._guarded(self._outgoing.receive) if self._outgoing.is_waiting else []
        if self._in_flight:
            self._checked(replies.pop(0))
            self._in_flight = {}
        return replies

    def _claim(self, capacity: FreeCapacity, inbox: Inbox) -> bool:
        """Let a claim stand, if capacity is left after what has just come. Return whether Redis was asked.

        A worker without capacity only asks now and then what was cancelled.
        """
        now = time.monotonic()
        tokens = capacity.tokens - sum([each.request.reserved_tokens for each in inbox.deliveries])
        num_jobs = capacity.requests - len(inbox.deliveries)
        has_capacity = tokens > 0 and num_jobs > 0 and not self._suspects and not self._heartbeat.is_suspended
        if now < self._claim_at_s or not has_capacity and not self._held:
            return False
        num_held, num_others = len(self._held), len(self._held) - len(self._asynchronous)
        more_async = max(1, self._budget_tokens // ASYNC_TOKENS) - len(self._asynchronous)
        more_async = 0 if self._had_async and not num_held else more_async
        about = (tokens, num_jobs, num_held, num_others, f"{self._service_s:.3f}", more_async)
        about = about if has_capacity else (0, 0, 1, 1, "0", 0)
        block_s = min(self._max_block_s, _BUSY_CLAIM_S if self._held else _IDLE_CLAIM_S)
        if self._num_async_waiting and (more_async > 0 or num_others == 0):
            block_s = min(block_s, _ASYNC_CLAIM_S)
        if not has_capacity:
            self._claim_at_s, block_s = now + _BUSY_CLAIM_S, 0.0
        look: Command = ("BLMOVE", self._queue, f"miniserve:claim:{self.name}", "LEFT", "RIGHT", block_s)
        drain = script("drain", self.name, LEASE_S, self._epoch, *about, self._queue)
        commands = (look, drain)[block_s <= 0 :]  # a look of 0 s would block for ever
        self._guarded(lambda: self._claims.send(*commands))
        return True

    def _receive(self, wait_s: float) -> Inbox:
        """What the standing claim has brought, if it has been answered or is within `wait_s`."""
        if not self._guarded(lambda: self._claims.has_reply(min(wait_s, MAX_BLOCK_S))):
            return Inbox()
        *claimed, drained = self._guarded(self._claims.receive)
        needs_resync, cancelled, must_wait, deferred_id, self._num_async_waiting, deliveries = self._checked(drained)
        if needs_resync:
            self._on_lease_lost()
            return self._resync()
        # Without memory Redis refuses BLMOVE, which would need some, and takes DRAIN.
        if (must_wait or any(isinstance(reply, ResponseError) for reply in claimed)) and not deliveries:
            self._claim_at_s = time.monotonic() + _CLAIM_AGAIN_S
        return Inbox(self._open_deliveries(deliveries), self._settle_cancelled(cancelled), deferred_id.decode())

    def _settle_cancelled(self, cancelled: list[bytes]) -> tuple[str, ...]:
        """The answer to a cancelled request goes out with the next exchange, also while the worker computes it."""
        request_ids = tuple(request_id for request_id in map(bytes.decode, cancelled) if request_id in self._held)
        self._accept_answers(Completion(request_id, FinishReason.CANCELLED) for request_id in request_ids)
        self._disowned.update(request_ids)
        return request_ids

    def _open_deliveries(self, raw_deliveries: list[Any]) -> tuple[Delivery, ...]:
        deliveries = []
        for raw_id, *fields, is_async, ticket in raw_deliveries:
            request_id = raw_id.decode()
            if request_id in self._held or request_id in self._unsent:
                continue  # taken from us, put back, and ours again: it still runs here
            self._disowned.discard(request_id)
            try:
                delivery = formats.decode_delivery(request_id, fields)
            except WireError as error:
                logger.error("request failed: %s", error, extra={"request_id": request_id})
                self._accept_answers([Completion(request_id, FinishReason.ERROR, error=str(error))])
                continue
            deliveries.append(delivery)
            self._held[request_id] = ticket
            self._had_async = bool(is_async)
            self._asynchronous |= {request_id} if is_async else set()
            self._suspects |= {request_id} if delivery.is_suspect else set()
        return tuple(deliveries)

    def _resync(self) -> Inbox:
        """Compare what is held with what Redis says: requests that were given to others end here."""
        self._claims.close()  # its DRAIN belongs to an epoch that is over
        self._epoch += 1
        disowned = self._ask(script("resync", self.name, LEASE_S, self._epoch, *self._held))
        self._needs_resync = False
        lost = tuple(map(bytes.decode, disowned))
        for request_id in lost:
            del self._held[request_id]
        self._disowned.update(lost)
        if lost:
            logger.warning("resynced: %d requests were given to others", len(lost))
        return Inbox((), lost)

    def _ask(self, command: Command) -> Any:
        """The reply, behind all answers that wait to be sent. Raises MailboxDown also where Redis refused."""
        self._confirm()
        self._send()
        self._confirm()
        return self._checked(self._guarded(lambda: self._outgoing.ask(command))[0])

    def _checked(self, reply: Any) -> Any:
        if isinstance(reply, ResponseError):  # this script did not run
            self._fail()
        return checked(reply)

    def _guarded(self, talk: Callable[[], Any]) -> Any:
        """What `talk` returns. After a MailboxDown the next ones come at once for a moment."""
        if time.monotonic() < self._retry_s:
            raise MailboxDown("Redis did not answer a moment ago")
        try:
            result = talk()
        except MailboxDown:
            self._fail()
            # Again at once, then ever later: a busy loop must not spend its iterations on a Redis that is away.
            self._retry_s = time.monotonic() + min(_LONGEST_HOLD_OFF_S, 0.02 * self._num_failures)
            self._num_failures += 1
            raise
        self._num_failures = 0
        return result

    def _fail(self) -> None:
        """Nothing that is under way counts; a standing claim belongs to an epoch that is over."""
        self._needs_resync = True
        self._unsent = self._in_flight | self._unsent
        self._in_flight = {}
        self._outgoing.close()
        self._claims.close()

    def _on_lease_lost(self) -> None:
        logger.warning("the lease of %s ran out; its requests may have been given to others", self.name)
        self._needs_resync = True
