"""Requests that the queue keeps: begun without a wait, found again by their id, and cancelled."""

from __future__ import annotations

import json
from typing import Any

from api.grammar.pipeline import Correction, TextDraft
from api.http.problems import TYPE_PREFIX
from api.observe.observer import find_own, observer_of
from api.service.corrector import BatchOutcome, Corrector, only
from api.service.jobs import Job, learner_of
from api.telemetry.request_log import Exchange
from scheduler.errors import InvalidRequest, NotFound, SentenceTooLong, ServingError
from scheduler.messages import Completion, FinishReason
from scheduler.phases import Phase, phase_of
from worker.mailbox.observing import Found
from worker.mailbox.protocol import KEPT_TTL_S, CancelResult, ReplyMode
from worker.mailbox.waiters import completion_of


class KeptRequests:
    """Those of a corrector's mailbox, of whichever replica."""

    def __init__(self, corrector: Corrector) -> None:
        self._corrector = corrector
        self._observer = observer_of(corrector.mailbox)

    def start(self, job: Job) -> Correction | BatchOutcome | Phase:
        """Submit the job and wait for nothing. Raises a ServingError."""
        exchange, within_s = job.exchange, KEPT_TTL_S if job.within_s is None else job.within_s
        drafts = self._corrector.drafts(job)
        accepted = self._corrector.submit(job, drafts, within_s, ReplyMode.ASYNC)
        exchange.accepted_s = accepted.accepted_s
        if accepted.request_id != exchange.request_id:  # an earlier request with the same key
            outcome = self.find(accepted.request_id, exchange)
            exchange.request_id = accepted.request_id
            return outcome
        refusals = [draft for draft in drafts if isinstance(draft, ServingError)]
        return refusals if len(refusals) == len(drafts) else Phase.QUEUED

    def find(self, request_id: str, exchange: Exchange) -> Correction | BatchOutcome | Phase:
        """What became of a request. Raises NotFound, and the error that the request itself ended in."""
        found = self._found(request_id, exchange)
        phase = phase_of([job.state for job in found.jobs])
        if phase is not None:
            return phase
        job = job_of(exchange, found.document)
        drafts = self._corrector.drafts(job)
        if sum(len(draft.sentences) for draft in drafts if isinstance(draft, TextDraft)) != len(found.jobs):
            raise NotFound("The request was taken by another version of this server; send it again.")
        complete = lambda jobs: [completion_of(one.state) for one in jobs]  # noqa: E731
        outcomes = list(self._corrector.outcomes(exchange, drafts, found.jobs, complete))
        return outcomes if job.is_batch else only(outcomes)

    def cancel(self, request_id: str, exchange: Exchange) -> CancelResult:
        """End what has no answer yet. Raises NotFound, NotReady."""
        jobs = self._found(request_id, exchange).jobs
        results = set(self._corrector.mailbox.cancel_all([job.job_id for job in jobs if isinstance(job.state, Phase)]))
        if any(isinstance(job.state, Completion) and job.state.finish_reason is FinishReason.CANCELLED for job in jobs):
            results.add(CancelResult.CANCELLED)
        order = (CancelResult.CANCELLING, CancelResult.CANCELLED, CancelResult.DONE)
        return min(results, key=order.index, default=CancelResult.DONE)

    def _found(self, request_id: str, exchange: Exchange) -> Found:
        found = find_own(self._observer, request_id, exchange.account)
        if found is None or found.tokenizer_fingerprint != self._corrector.pipeline.tokenizer_fingerprint:
            raise NotFound("No request has this id, or its answer is no longer kept.")
        return found


def job_of(exchange: Exchange, document: str) -> Job:
    """The job that `record_of` has kept, for an exchange that asks for its answer."""
    content = json.loads(document)
    if content.get("learner_id") is not None:
        exchange.learner = learner_of(content["learner_id"], content.get("account", ""))
    min_confidence = content.get("min_confidence", 0.0)
    if "sentence" in content:
        return Job(exchange, (content["sentence"],), min_confidence=min_confidence)
    texts = tuple(item if isinstance(item, str) else _refusal_of(item) for item in content["items"])
    return Job(exchange, texts, is_batch=True, min_confidence=min_confidence)


def _refusal_of(document: dict[str, Any]) -> ServingError:
    """The refusal of a text from the document that `problem` made of it."""
    if document["type"] == TYPE_PREFIX + SentenceTooLong.slug:
        return SentenceTooLong(document["num_words"], document.get("num_tokens"), document.get("sentence_number"))
    return InvalidRequest(document["field"], document["detail"])
