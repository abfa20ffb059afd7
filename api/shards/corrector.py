"""The corrector over several queues: chooses one for each request, and another where that one fails.

A request belongs to one shard, all its sentences with it. What waits at a shard that goes away is begun again on
another, under an id of that one; the first may compute it for nobody when it comes back. With an Idempotency-Key it is
not: only the key's own shard knows whether it ran before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from api.grammar.pipeline import TextPipeline
from api.server.client_socket import let_others_go_first
from api.service.corrector import Corrector
from api.service.exchange import Exchange
from api.shards.mailbox import ShardedMailbox
from api.shards.shard import Shard
from scheduler.errors import NotReady, Overloaded, QueueFull, ServingError
from scheduler.messages import Completion, CorrectionRequest
from scheduler.settings import Settings
from scheduler.shards import MARK_DIGITS
from scheduler.urls import redis_urls
from worker.mailbox.protocol import MailboxLimits, ReplyMode, Submission

_ELSEWHERE = (NotReady, QueueFull)  # refusals that another shard may not give


def sharded_corrector(settings: Settings) -> Corrector:
    """The corrector over the queues of `settings.redis_url`; it connects at once."""
    mailbox = ShardedMailbox(redis_urls(settings.redis_url), MailboxLimits.from_settings(settings))
    return ShardedCorrector(TextPipeline.load(pause=let_others_go_first), mailbox, settings)


class ShardedCorrector(Corrector):
    """As a corrector over one queue."""

    def __init__(self, pipeline: TextPipeline, mailbox: ShardedMailbox, settings: Settings) -> None:
        super().__init__(pipeline, mailbox, settings)
        self._shards = mailbox

    def enqueue(
        self, exchange: Exchange, content: dict[str, Any], requests: Sequence[CorrectionRequest], mode: ReplyMode
    ) -> Submission:
        refusal: Overloaded = _nobody()
        for shard in self._choose(exchange):
            exchange.request_id = _marked(exchange.request_id, shard)
            try:
                return super().enqueue(exchange, content, _of(requests, shard), mode)
            except _ELSEWHERE as error:
                refusal = error
        raise refusal

    def wait(self, exchange: Exchange, wanted: Submission, job_ids: Sequence[str] | None = None) -> list[Completion]:
        try:
            return self._wait(exchange, wanted, job_ids)
        finally:
            if job_ids is None or wanted.requests[-1].request_id in job_ids:
                self._shards.again.pop(wanted, None)

    def _wait(self, exchange: Exchange, wanted: Submission, job_ids: Sequence[str] | None) -> list[Completion]:
        for left in reversed(range(len(self._shards.shards))):
            now = self._shards.again.get(wanted, wanted)
            try:
                completions = super().wait(exchange, now, _ids_of(now, job_ids))
                break
            except _ELSEWHERE as error:
                if not left or not self._may_go_on(exchange, error):
                    raise
            self._begin_again(exchange, wanted, job_ids)
        if job_ids is None and now is not wanted:  # what is found later is what was answered
            wanted.request_id = exchange.request_id = now.request_id
            exchange.job_ids = tuple(now.outcomes)
        return completions

    def _may_go_on(self, exchange: Exchange, refusal: ServingError) -> bool:
        if exchange.key or exchange.left_s() <= 0.0 or (exchange.has_left is not None and exchange.has_left()):
            return False
        return isinstance(refusal, NotReady) or self._shards.known_refusal(exchange.client) is None

    def _begin_again(self, exchange: Exchange, wanted: Submission, job_ids: Sequence[str] | None) -> None:
        """On another shard, all of it or all from these jobs on, which were not waited for. Raises the last refusal."""
        ids = [one.request_id for one in wanted.requests]
        jobs = wanted.requests[ids.index(job_ids[0]) if job_ids else 0 :]
        self.mailbox.abandon(wanted)  # and what it was begun again as
        refusal: Overloaded = _nobody()
        for shard in self._choose(exchange):
            request_id = _marked(wanted.request_id, shard)
            again = replace(wanted, request_id=request_id, requests=_of(jobs, shard), within_s=exchange.left_s())
            try:
                self.mailbox.enqueue(again)
            except _ELSEWHERE as error:
                refusal = error
            else:
                self._shards.again[wanted] = again
                return
        raise refusal

    def _choose(self, exchange: Exchange) -> Iterator[Shard]:
        is_limited = exchange.account is not None and bool(exchange.account.limits)
        return self._shards.choose(exchange.key, exchange.client, is_limited)


def _nobody() -> NotReady:
    return NotReady("No Redis of any shard answers; try again shortly.", 1.0)


def _marked(request_id: str, shard: Shard) -> str:
    return shard.mark + request_id[MARK_DIGITS:]


def _ids_of(wanted: Submission, job_ids: Sequence[str] | None) -> Sequence[str] | None:
    """The same jobs, as this request names them."""
    if job_ids is None:
        return None
    mark = wanted.requests[0].request_id[:MARK_DIGITS]
    return [mark + job_id[MARK_DIGITS:] for job_id in job_ids]


def _of(requests: Sequence[CorrectionRequest], shard: Shard) -> tuple[CorrectionRequest, ...]:
    """The same jobs, under ids of this shard."""
    return tuple([replace(one, request_id=_marked(one.request_id, shard)) for one in requests])
