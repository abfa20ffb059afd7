"""Requests that the queue keeps: begun without a wait, found again by their id, and cancelled."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from api.grammar.correction import Correction
from api.http.app import Services
from api.service.body import BatchBody, Body, CorrectionBody
from api.service.corrector import BatchOutcome, learner_of, num_sentences_of
from api.service.exchange import Account, Exchange
from api.service.problems import TYPE_PREFIX
from api.service.threads import in_thread, in_turn
from scheduler.errors import InvalidRequest, NotFound, SentenceTooLong, ServingError
from scheduler.messages import Completion, FinishReason
from worker.queue.connection import script
from worker.queue.protocol import KEPT_TTL_S, CancelResult, ReplyMode
from worker.queue.redis_observer import Found, Phase, phase_of

_FOR_ALL = ""  # in place of the channel of an API process


class KeptRequests:
    """Those of the queue, of whichever replica."""

    def __init__(self, services: Services) -> None:
        self._corrector, self._queue, self._observer = services.corrector, services.queue, services.observer

    async def start(self, exchange: Exchange, body: Body) -> Correction | BatchOutcome | Phase:
        """Submit the request and wait for nothing. Raises a ServingError."""
        exchange.limit_wait(KEPT_TTL_S)
        exchange.manner = ReplyMode.ASYNC
        drafts = await in_turn(body.num_characters, self._corrector.prepare, exchange, body)
        if not exchange.requests:  # no sentence of any text can be read
            return self._corrector.outcome_of(body, drafts, [()] * len(drafts))
        await self._queue.enqueue(exchange)
        return await self.find(exchange.request_id, exchange) if exchange.is_joined else Phase.QUEUED

    async def find(self, request_id: str, exchange: Exchange) -> Correction | BatchOutcome | Phase:
        """What became of a request. Raises NotFound, and the error that the request itself ended in."""
        found = await self._found(request_id, exchange)
        phase = phase_of([job.state for job in found.jobs])
        if phase is not None:
            return phase
        await self._count_tokens(exchange, request_id, found)
        return await in_thread(self._outcome, exchange, found)

    def _outcome(self, exchange: Exchange, found: Found) -> Correction | BatchOutcome:
        body = body_of(exchange, found.content)
        drafts = self._corrector.drafts_of(body)
        sizes = list(map(num_sentences_of, drafts))
        if sum(sizes) != len(found.jobs):
            raise NotFound("The request was taken by another version of this server; send it again.")
        ends = [job.state for job in found.jobs if not isinstance(job.state, Phase)]  # all
        exchange.note_times([end for end in ends if isinstance(end, Completion)])
        rest = iter(ends)
        return self._corrector.outcome_of(body, drafts, [list(islice(rest, size)) for size in sizes])

    async def cancel(self, request_id: str, exchange: Exchange) -> CancelResult:
        """End what has no answer yet, for all who wait for it. Raises NotFound, NotReady."""
        jobs = (await self._found(request_id, exchange)).jobs
        results: set[CancelResult] = set()
        if open_ids := [job.job_id for job in jobs if isinstance(job.state, Phase)]:
            ended = await self._queue.ask(script("cancel", _FOR_ALL, FinishReason.CANCELLED.value, *open_ids))
            results |= {CancelResult(each.decode()) for each in ended}
        if any(isinstance(job.state, Completion) and job.state.finish_reason is FinishReason.CANCELLED for job in jobs):
            results.add(CancelResult.CANCELLED)
        order = (CancelResult.CANCELLING, CancelResult.CANCELLED, CancelResult.DONE)
        return min(results, key=order.index, default=CancelResult.DONE)

    async def _count_tokens(self, exchange: Exchange, request_id: str, found: Found) -> None:
        """Of an asynchronous request nobody has counted those of its answers before they are asked for."""
        if exchange.account is not None and await self._observer.is_first(request_id):
            ends = [job.state for job in found.jobs if isinstance(job.state, Completion)]
            exchange.more_tokens = sum([len(completion.output_ids) for completion in ends])

    async def _found(self, request_id: str, exchange: Exchange) -> Found:
        found, fingerprint = await self._observer.find(request_id), self._corrector.pipeline.tokenizer_fingerprint
        if found is None or not _is_own(found, exchange.account) or found.tokenizer_fingerprint != fingerprint:
            raise NotFound(
                "No request with this id is kept. Those with `Prefer: respond-async` or an `Idempotency-Key` are, for "
                "ten minutes; the answers of others are given once."
            )
        return found


def _is_own(found: Found, account: Account | None) -> bool:
    """Another's is not found. Where no keys are asked for, every request belongs to whoever knows its id."""
    return account is None or found.content.get("account") == account.name


def body_of(exchange: Exchange, content: Mapping[str, Any]) -> Body:
    """The body that a submission has kept, for an exchange that asks for its answer."""
    if content.get("learner_id") is not None:
        exchange.learner = learner_of(content["learner_id"], content.get("account", ""))
    min_confidence = content.get("min_confidence", 0.0)
    if "sentence" in content:
        return CorrectionBody(sentence=content["sentence"], learner_id=None, min_confidence=min_confidence)
    texts = [item if isinstance(item, str) else _refusal_of(item) for item in content["items"]]
    return BatchBody(sentences=texts, learner_id=None, min_confidence=min_confidence)


def _refusal_of(document: dict[str, Any]) -> ServingError:
    """The refusal of a text from the document that `problem` made of it."""
    if document["type"] == TYPE_PREFIX + SentenceTooLong.slug:
        return SentenceTooLong(document["num_words"], document.get("num_tokens"))
    return InvalidRequest(document["field"], document["detail"])
