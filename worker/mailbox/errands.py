"""What the API's end asks of Redis, as commands, and what the replies mean.

Opens nothing and waits for nothing: `api_end.py` does both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from scheduler.errors import RequestFailed, ServingError
from scheduler.messages import Completion, CorrectionRequest, FinishReason, WireError
from worker.mailbox import bounds, formats
from worker.mailbox.line import Command, script
from worker.mailbox.protocol import FAILURE_TTL_S, FoundJob, MailboxLimits, Manner, Parting, Phase, Record

NOBODY = "-"  # as in common.lua
_LONGEST_RUN_S = 60
_PHASES = {b"queued": Phase.QUEUED, b"started": Phase.RUNNING}


@dataclass(slots=True)
class Errand:
    """What one call asks the queue to accept; kept while somebody waits, should Redis lose it."""

    requests: tuple[CorrectionRequest, ...]
    within_s: float | None = None
    record: Record | None = None

    def under(self, request_id: str) -> Errand:
        """The same work in the name of the request that was there before."""
        assert self.record is not None
        own = self.record.request_id
        requests = (replace(one, request_id=request_id + one.request_id.removeprefix(own)) for one in self.requests)
        return Errand(tuple(requests), self.within_s, replace(self.record, request_id=request_id))

    def command(self, channel: str, limits: MailboxLimits) -> Command:
        """ENQUEUE, with answers to be published on the channel."""
        record, within_s = self.record, self.within_s
        is_async = record is not None and record.manner is Manner.ASYNC
        ttl_s = limits.kept_ttl_s if is_async or record is not None and record.key else limits.result_ttl_s
        about_all: list[Any] = [NOBODY if is_async else channel, ttl_s, FAILURE_TTL_S, limits.timeout_s]
        about_all += [limits.max_requests, limits.max_tokens, "" if within_s is None else within_s]
        about_record: list[Any] = ["", "", "", "", 0, "", ""]
        if record is not None:
            # Until its jobs' answers are forgotten: they may wait for all of their time, and run after that.
            record_ttl_s = ttl_s + math.ceil(limits.kept_ttl_s if within_s is None else within_s) + _LONGEST_RUN_S
            about_record = [record.request_id, record.document, record.digest, record.key, record_ttl_s]
            about_record += ["1" if record.manner is Manner.FOLLOW else "", record.maker]
        about_each: list[Any] = []
        for request in self.requests:
            encoded = formats.encode_request(request)
            about_each += [request.request_id, formats.body_hash(encoded, request.request_id)]
            about_each += [request.reserved_tokens, encoded, formats.describe(request)]
        return script("enqueue", *about_all, *about_record, *about_each)


def cancel_command(request_id: str, channel: str, why: Parting) -> Command:
    payload = formats.encode_completion(Completion(request_id, FinishReason.CANCELLED))
    return script("cancel", request_id, channel, payload, why.value)


def found_job(raw_id: bytes, state: bytes, payload: bytes) -> FoundJob:
    job_id = raw_id.decode()
    return FoundJob(job_id, _PHASES.get(state) or outcome_of(job_id, state, payload) or bounds.removed())


def outcome_of(job_id: str, state: bytes, payload: bytes) -> Completion | ServingError | None:
    """None where there is none yet, or none any more."""
    if state == b"done":
        try:
            return formats.decode_completion(payload)
        except WireError as error:
            return RequestFailed(f"the answer cannot be read: {error}")
    if state == b"expired":
        return bounds.expired()
    return Completion(job_id, FinishReason.CANCELLED) if state == b"canceled" else None
