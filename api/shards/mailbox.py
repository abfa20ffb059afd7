"""The API's end of several queues: a mailbox for each, and the first digits of an id say whose it is.

Bounds and shares hold in each queue. Which queue a request goes to is chosen before it has an id (`choose`), by the
corrector.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from api.shards.shard import Shard, ShardMailbox
from scheduler.capacity.observed import Observed
from scheduler.capacity.shards import at_rest, summed
from scheduler.errors import NotReady, QueueFull, RateLimited
from scheduler.messages import FinishReason
from scheduler.shards import MARK_DIGITS, by_home, in_turn
from scheduler.trace_parts import FoundTrace
from worker.mailbox.connection import Command
from worker.mailbox.observing import Found
from worker.mailbox.protocol import CancelResult, MailboxLimits, MailboxStatus, Submission
from worker.mailbox.waiters import Waiters, WaitingMailbox

_MOST_LIMITED = 1024
_RANKS = ("", "bit-identical", "same-tokens", "tokens-differ")


class ShardedMailbox(WaitingMailbox):
    """Keeps the protocols of ApiMailbox and Observer."""

    def __init__(self, urls: Sequence[str], limits: MailboxLimits) -> None:
        super().__init__(limits, Waiters())
        self.shards: Mapping[str, Shard] = {one.mark: one for one in [Shard(url, limits) for url in urls]}
        self._limited: dict[str, None] = {}  # clients whose key has a limit
        self.again: dict[Submission, Submission] = {}  # requests whose rest was begun again, and as what

    def choose(self, key: str, client: str, is_limited: bool) -> Iterator[Shard]:
        """The shards to try with a request, one after the other; none where all are away. Raises NotReady.

        `key`: of the client's; `is_limited`: the rate of its API key is.
        """
        if key:  # one with a limit counts where all of its client's do
            home = self.home_of(client if is_limited else key)
            if home.mailbox.is_away:
                raise NotReady("The Redis that knows this Idempotency-Key does not answer; try again shortly.", 1.0)
            return iter([home])
        present = [one for one in self.shards.values() if not one.mailbox.is_away]
        if is_limited and present:
            self._note_limited(client)
            return iter([self._limiting(client)])
        # Of those that seem to be away one may be back within a request's patience.
        able = [one for one in present if one.is_live] or [one for one in present if one.is_up] or present[:1]
        with_room = [one for one in able if one.mailbox.known_refusal(client) is None] or able
        return iter(in_turn([(one, one.load) for one in with_room], random.sample))

    def home_of(self, name: str) -> Shard:
        """Where what must be in one place is kept: a learner, a session."""
        return self.shards[by_home(name, self.shards)[0]]

    def known_refusal(self, client: str = "") -> QueueFull | RateLimited | None:
        asked = [one for one in self.shards.values() if one.is_live]
        if client in self._limited and asked:
            asked = [self._limiting(client)]
        refusals = []
        for shard in asked:
            refusal = shard.mailbox.known_refusal(client)
            if refusal is None:
                return None
            refusals.append(refusal)
        return min(refusals, key=lambda refusal: refusal.retry_after_s, default=None)

    def keep_trace(self, request_id: str, text: str, is_kept_longer: bool = False) -> None:
        self.shards[request_id[:MARK_DIGITS]].mailbox.keep_trace(request_id, text, is_kept_longer)

    def waiting(self, wanted: Submission, job_ids: Sequence[str]) -> AbstractContextManager[threading.Event]:
        return self._of(wanted).waiting(wanted, job_ids)

    def abandon(
        self, wanted: Submission, why: FinishReason = FinishReason.CANCELLED, job_ids: Sequence[str] | None = None
    ) -> None:
        if wanted.outcomes:  # else it was never given to a shard
            self._of(wanted).abandon(wanted, why, job_ids)
        if job_ids is None and (again := self.again.pop(wanted, None)) is not None:
            self.abandon(again, why)

    def cancel_all(self, request_ids: Sequence[str]) -> list[CancelResult]:
        shard = self._holder(request_ids[0]) if request_ids else None
        return [CancelResult.DONE] * len(request_ids) if shard is None else shard.mailbox.cancel_all(request_ids)

    def status(self) -> MailboxStatus:
        """As the latest looks found it."""
        every = [one.status for one in self.shards.values()]
        up = [one for one in every if one.redis_ok]
        return MailboxStatus(
            redis_ok=bool(up),
            live_workers=sum(one.live_workers for one in up),
            queue_depth=sum(one.queue_depth for one in up),
            reserved_tokens=sum(one.reserved_tokens for one in up),
            reserved_requests=sum(one.reserved_requests for one in up),
            num_done=sum(one.num_done for one in every),
            num_failed=sum(one.num_failed for one in every),
            service_rate_tokens_per_s=sum(one.service_rate_tokens_per_s for one in up),
            batch_invariance=max((one.batch_invariance for one in up), key=_rank, default=""),
            refusal=next((one.refusal for one in up or every if one.refusal), ""),
        )

    def observe(self) -> Observed:
        looks = {shard: shard.look() for shard in self.shards.values()}
        seen = [one for one in looks.values() if one is not None]
        if not seen:
            raise NotReady("No Redis of any shard answers; try again shortly.", 1.0)
        away = [shard.last_seen for shard, one in looks.items() if one is None]
        return summed(seen + [at_rest(last) for last in away if last is not None])

    def find(self, request_id: str) -> Found | None:
        shard = self._holder(request_id)
        return None if shard is None else shard.observer.find(request_id)

    def trace(self, request_id: str) -> FoundTrace | None:
        shard = self._holder(request_id)
        return None if shard is None else shard.observer.trace(request_id)

    def _holder(self, request_id: str) -> Shard | None:
        """By its mark; an id from before its Redis was one of several has none, or that of another list."""
        if request_id[:MARK_DIGITS] in self.shards:
            return self.shards[request_id[:MARK_DIGITS]]
        for shard in self.shards.values():
            with suppress(NotReady):
                if shard.observer.find(request_id.partition("-")[0]) is not None:
                    return shard
        return None

    def ask(self, command: Command) -> Any:
        """A command belongs to the shard that is home to its key, one of our scripts to that of its first argument."""
        return self.home_of(str(command[3 if command[0] == "EVALSHA" else 1])).ask(command)

    def asks(self) -> dict[str, Callable[[Command], Any]]:
        """How to ask each shard that is not away, by its mark."""
        return {mark: shard.ask for mark, shard in self.shards.items() if not shard.mailbox.is_away}

    def close(self) -> None:
        for shard in self.shards.values():
            shard.mailbox.close()

    def _accept(self, wanted: Submission) -> None:
        shard = self.shards[wanted.request_id[:MARK_DIGITS]]
        shard.note_sent(sum([one.reserved_tokens for one in wanted.requests]))
        shard.mailbox.enqueue(wanted)

    def _of(self, wanted: Submission) -> ShardMailbox:
        """Its jobs tell: a request that was begun again has another id. One that a key stands for may have no mark."""
        shard = self.shards.get(wanted.requests[0].request_id[:MARK_DIGITS])
        return (shard or self.home_of(wanted.client if wanted.limits else wanted.key)).mailbox

    def _limiting(self, client: str) -> Shard:
        """The one that counts what a client has used. All replicas agree on it, but for the second of a death."""
        present = [one for one in self.shards.values() if not one.mailbox.is_away]
        staffed = [one.mark for one in present if one.num_workers != 0] or [one.mark for one in present]
        return self.shards[by_home(client, staffed or self.shards)[0]]

    def _note_limited(self, client: str) -> None:
        if len(self._limited) >= _MOST_LIMITED:
            self._limited.clear()
        self._limited[client] = None


def _rank(batch_invariance: str) -> int:
    return _RANKS.index(batch_invariance) if batch_invariance in _RANKS else 0
