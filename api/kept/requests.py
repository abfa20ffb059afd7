"""Requests that the queue keeps: begun without a wait, found again by their id, and cancelled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from api.batch.body import BatchBody
from api.batch.corrector import BatchOutcome, drafts_of, outcomes_of, submit_batch
from api.grammar.correction import Correction
from api.grammar.pipeline import TextDraft
from api.http.problems import TYPE_PREFIX
from api.http.schema import CorrectionBody
from api.observe.observer import find_own, observer_of
from api.service.corrector import Corrector, learner_of
from api.service.exchange import Exchange
from scheduler.errors import InvalidRequest, NotFound, SentenceTooLong, ServingError
from scheduler.messages import Completion, FinishReason
from scheduler.phases import Phase, phase_of
from worker.mailbox.connection import script
from worker.mailbox.observing import Found, FoundJob
from worker.mailbox.protocol import KEPT_TTL_S, CancelResult, ReplyMode
from worker.mailbox.waiters import completion_of


class KeptRequests:
    """Those of a corrector's mailbox, of whichever replica."""

    def __init__(self, corrector: Corrector) -> None:
        self._corrector = corrector
        self._observer = observer_of(corrector.mailbox)

    def start(self, exchange: Exchange, body: CorrectionBody | BatchBody) -> Correction | BatchOutcome | Phase:
        """Submit the request and wait for nothing. Raises a ServingError."""
        exchange.limit_wait(KEPT_TTL_S)
        if isinstance(body, BatchBody):
            drafts = drafts_of(self._corrector, body)
            wanted = submit_batch(self._corrector, exchange, body, drafts, ReplyMode.ASYNC)
        else:
            draft, wanted = self._corrector.submit(exchange, body, ReplyMode.ASYNC)
            if not draft.sentences:
                return self._corrector.conclude(draft, ())
        exchange.accepted_s = wanted.accepted_s
        if wanted.request_id != exchange.request_id:  # an earlier request with the same key
            outcome = self.find(wanted.request_id, exchange)
            exchange.request_id = wanted.request_id
            return outcome
        if wanted.requests:
            return Phase.QUEUED
        return list(outcomes_of(self._corrector, drafts, (), list))  # no sentence of any text can be read

    def find(self, request_id: str, exchange: Exchange) -> Correction | BatchOutcome | Phase:
        """What became of a request. Raises NotFound, and the error that the request itself ended in."""
        found = self._found(request_id, exchange)
        phase = phase_of([job.state for job in found.jobs])
        if phase is not None:
            return phase
        self._count_tokens(exchange, request_id, found)
        body = body_of(exchange, found.document)
        if isinstance(body, CorrectionBody):
            draft = self._corrector.pipeline.prepare_text(body.sentence, body.min_confidence)
            _check_number(len(draft.sentences), found)
            return self._corrector.conclude(draft, _completions(exchange, found.jobs))
        drafts = drafts_of(self._corrector, body)
        _check_number(sum(len(draft.sentences) for draft in drafts if isinstance(draft, TextDraft)), found)
        return list(outcomes_of(self._corrector, drafts, found.jobs, partial(_completions, exchange)))

    def cancel(self, request_id: str, exchange: Exchange) -> CancelResult:
        """End what has no answer yet. Raises NotFound, NotReady."""
        jobs = self._found(request_id, exchange).jobs
        results = set(self._corrector.mailbox.cancel_all([job.job_id for job in jobs if isinstance(job.state, Phase)]))
        if any(isinstance(job.state, Completion) and job.state.finish_reason is FinishReason.CANCELLED for job in jobs):
            results.add(CancelResult.CANCELLED)
        order = (CancelResult.CANCELLING, CancelResult.CANCELLED, CancelResult.DONE)
        return min(results, key=order.index, default=CancelResult.DONE)

    def _count_tokens(self, exchange: Exchange, request_id: str, found: Found) -> None:
        """Of an asynchronous request nobody has counted those of its answers before they are asked for."""
        ask = self._corrector.mailbox.ask
        if exchange.account is not None and ask is not None and ask(script("first", request_id)):
            ends = [job.state for job in found.jobs if isinstance(job.state, Completion)]
            exchange.more_tokens = sum([len(completion.output_ids) for completion in ends])

    def _found(self, request_id: str, exchange: Exchange) -> Found:
        found = find_own(self._observer, request_id, exchange.account)
        if found is None or found.tokenizer_fingerprint != self._corrector.pipeline.tokenizer_fingerprint:
            raise NotFound(
                "No request with this id is kept. Those with `Prefer: respond-async` or an `Idempotency-Key` are, for "
                "ten minutes; the answers of others are given once."
            )
        return found


def body_of(exchange: Exchange, document: str) -> CorrectionBody | BatchBody:
    """The body that a submission has kept, for an exchange that asks for its answer."""
    content = json.loads(document)
    if content.get("learner_id") is not None:
        exchange.learner = learner_of(content["learner_id"], content.get("account", ""))
    min_confidence = content.get("min_confidence", 0.0)
    if "sentence" in content:
        return CorrectionBody(sentence=content["sentence"], learner_id=None, min_confidence=min_confidence)
    texts = [item if isinstance(item, str) else _refusal_of(item) for item in content["items"]]
    return BatchBody(sentences=texts, learner_id=None, min_confidence=min_confidence)


def _check_number(num_sentences: int, found: Found) -> None:
    """Raises NotFound."""
    if num_sentences != len(found.jobs):
        raise NotFound("The request was taken by another version of this server; send it again.")


def _completions(exchange: Exchange, jobs: Sequence[FoundJob]) -> list[Completion]:
    """Raises the error of a job that has failed. All have ended."""
    completions = [completion_of(job.state) for job in jobs if not isinstance(job.state, Phase)]
    exchange.note_times(completions)
    return completions


def _refusal_of(document: dict[str, Any]) -> ServingError:
    """The refusal of a text from the document that `problem` made of it."""
    if document["type"] == TYPE_PREFIX + SentenceTooLong.slug:
        return SentenceTooLong(document["num_words"], document.get("num_tokens"))
    return InvalidRequest(document["field"], document["detail"])
