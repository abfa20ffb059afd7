"""What the API's end asks of Redis, as commands, and what the replies mean.

Opens nothing and waits for nothing: `api_end.py` does both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from scheduler.errors import RequestFailed, ServingError
from scheduler.messages import Completion, CorrectionRequest, FinishReason, WireError
from scheduler.traces import FoundTrace, RequestPart, SequencePart, TracedJob, TraceError
from worker.mailbox import admission, formats
from worker.mailbox.connection import Command, script
from worker.mailbox.protocol import (
    FAILURE_TTL_S,
    AbandonReason,
    Found,
    FoundJob,
    MailboxLimits,
    Phase,
    Record,
    ReplyMode,
)

_LONGEST_RUN_S = 60
_PHASES = {b"queued": Phase.QUEUED, b"started": Phase.RUNNING}
_TRACED = {**_PHASES, b"canceled": FinishReason.CANCELLED, b"expired": FinishReason.EXPIRED}
_RECORD_FIELDS = ("document", "maker", "jobs", "open")


@dataclass(slots=True)
class EnqueueRequest:
    """What one call asks the queue to accept; kept while somebody waits, should Redis lose it."""

    requests: tuple[CorrectionRequest, ...]
    within_s: float | None = None
    record: Record | None = None
    may_be_known: bool = True  # else all its ids are random and were never sent

    def under(self, request_id: str) -> EnqueueRequest:
        """The same work in the name of the request that was there before."""
        assert self.record is not None
        own = self.record.request_id
        requests = (replace(one, request_id=request_id + one.request_id.removeprefix(own)) for one in self.requests)
        return EnqueueRequest(tuple(requests), self.within_s, replace(self.record, request_id=request_id))

    def words(self, limits: MailboxLimits) -> list[Any]:
        """What ENQUEUE takes for it."""
        record, within_s = self.record, self.within_s
        is_async = record is not None and record.manner is ReplyMode.ASYNC
        is_kept = is_async or record is not None and bool(record.key)
        ttl_s = limits.kept_ttl_s if is_kept else limits.result_ttl_s
        words: list[Any] = [len(self.requests), "1" if self.may_be_known else "", ttl_s]
        words.append("" if within_s is None else f"{within_s:.3f}")
        if record is None:
            words += ("", "", "", "", "", "", "", "", "")
        else:
            # Until its jobs' answers are forgotten: they may wait for all of their time, and run after that.
            record_ttl_s = ttl_s + math.ceil(limits.kept_ttl_s if within_s is None else within_s) + _LONGEST_RUN_S
            is_own_job = len(self.requests) == 1 and self.requests[0].request_id == record.request_id
            words += ["1" if record.manner is ReplyMode.FOLLOW else "", "1" if is_async else "", record.request_id]
            words += [record.document, record.digest, record.tokenizer_fingerprint]
            words += ["" if is_own_job and not is_kept else "1", record_ttl_s, record.key]
        for request in self.requests:
            encoded = formats.encode_request(request)
            words += [request.request_id, formats.body_hash(encoded, request.request_id)]
            words += [request.reserved_tokens, encoded, formats.describe(request)]
        return words


def enqueue_command(channel: str, limits: MailboxLimits, wanted: list[EnqueueRequest]) -> Command:
    """ENQUEUE for all of them, with answers to be published on the channel. Its reply has one entry for each."""
    bounds = (channel, FAILURE_TTL_S, limits.timeout_s, limits.max_requests, limits.max_tokens)
    return script("enqueue", *bounds, *[word for one in wanted for word in one.words(limits)])


def cancel_command(request_ids: list[str], channel: str, why: AbandonReason) -> Command:
    """CANCEL; `channel` '' ends the jobs for everybody."""
    return script("cancel", channel, why.value, *request_ids)


def record_commands(request_id: str) -> tuple[Command, ...]:
    """Read the record of a request, which may be in its only job."""
    return (
        ("HMGET", f"miniserve:request:{request_id}", *_RECORD_FIELDS),
        ("HMGET", f"rq:job:{request_id}", "document", "maker"),
        ("GET", f"miniserve:trace:{request_id}"),
    )


def job_ids_of(request_id: str, replies: list[Any]) -> list[str]:
    """The jobs of the request whose record was read; none where it is not known."""
    (_, _, job_ids, _), (document, _), trace = replies
    if job_ids is not None:
        return job_ids.decode().split()
    if document is not None:
        return [request_id]
    part = _request_part(request_id, trace)
    return [] if part is None else list(part.job_ids)


def found_of(replies: list[Any], job_ids: list[str], states: list[Any]) -> Found | None:
    """The request and what became of its jobs; None where it is not known, or not any more."""
    (document, tokenizer, _, num_open), own, _ = replies
    if document is None:
        document, tokenizer = own
    if document is None:
        return None
    is_forgotten = num_open is None or int(num_open) <= 0  # an answer that is gone was forgotten, nobody removed it
    if is_forgotten and any(state == b"gone" for state, _, _ in states):
        return None
    jobs = [_found_job(job_id, state, payload) for job_id, (state, payload, _) in zip(job_ids, states, strict=True)]
    return Found(document.decode(), tokenizer.decode(), tuple(jobs))


def trace_of(request_id: str, replies: list[Any], job_ids: list[str], states: list[Any]) -> FoundTrace | None:
    """What is kept of its trace; None where nothing is known of it."""
    jobs = [
        TracedJob(job_id, _sequence_part(text), _TRACED.get(state))
        for job_id, (state, _, text) in zip(job_ids, states, strict=True)
    ]
    part = _request_part(request_id, replies[2])
    return FoundTrace(part, tuple(jobs)) if jobs else None


def _found_job(job_id: str, state: bytes, payload: bytes) -> FoundJob:
    return FoundJob(job_id, _PHASES.get(state) or outcome_of(job_id, state, payload) or admission.removed())


def outcome_of(job_id: str, state: bytes, payload: bytes) -> Completion | ServingError | None:
    """None where there is none yet, or none any more."""
    if state == b"done":
        try:
            return formats.decode_completion(payload)
        except WireError as error:
            return RequestFailed(f"the answer cannot be read: {error}")
    if state == b"expired":
        return admission.expired()
    return Completion(job_id, FinishReason.CANCELLED) if state == b"canceled" else None


def _request_part(request_id: str, text: bytes | None) -> RequestPart | None:
    try:
        return RequestPart.from_text(request_id, text.decode()) if text else None
    except TraceError:  # of another version
        return None


def _sequence_part(text: bytes) -> SequencePart | None:
    try:
        return SequencePart.from_text(text.decode()) if text else None
    except TraceError:  # of another version
        return None
