"""Our messages in RQ's clothes: the job's `data`, the stored result, the text of a failure.

JSON throughout, by the library of pydantic, which takes a quarter of the time of `json`; never pickle, and no code name
is ever imported from what is read. RQ's tools show descriptions and results unescaped in a browser: descriptions hold
numbers only, and `<`, `>`, `&` of a result are escaped.
"""

from __future__ import annotations

import re
import zlib
from binascii import a2b_base64, b2a_base64
from math import ceil, inf, isfinite
from time import monotonic
from typing import Any

from pydantic_core import from_json, to_json

from scheduler.errors import RequestFailed, ServingError
from scheduler.messages import Completion, CorrectionRequest, Delivery, FinishReason, Progress, WireError
from worker.queue.protocol import (
    FUNCTION_NAME,
    MAX_ATTEMPTS,
    MAX_DATA_BYTES,
    MailboxLimits,
    ReplyMode,
    Submission,
)

_UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_JOB_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")  # RQ's rule: a colon separates id and owner in rq:wip
_LONGEST_RUN_S = 60
_STATUS = {
    FinishReason.LENGTH: "length",
    FinishReason.CANCELLED: "canceled",
    FinishReason.EXPIRED: "expired",
    FinishReason.ERROR: "failed",
}
_ENDS = {b"canceled": FinishReason.CANCELLED, b"expired": FinishReason.EXPIRED}


def is_request_id(text: str) -> bool:
    """Whether it may be the id of a job, or of a request."""
    return _JOB_ID.fullmatch(text) is not None


def encode_request(request: CorrectionRequest) -> bytes:
    """RQ's `data`: function, instance, arguments, keyword arguments."""
    return to_json([FUNCTION_NAME, None, [request.to_wire()], {}])


def decode_request(raw: bytes, request_id: str) -> CorrectionRequest:
    """Read `data`, plain or zlib'd (as RQ's own tools write it back). Raises WireError."""
    try:
        if raw[:1] != b"[":
            raw = zlib.decompressobj().decompress(raw, MAX_DATA_BYTES + 1)
        if len(raw) > MAX_DATA_BYTES:
            raise OverflowError
        function_name, _, arguments, _ = from_json(raw)
        wire = arguments[0]
    except OverflowError:
        raise WireError(f"the job's data is longer than {MAX_DATA_BYTES:,} bytes") from None
    except (zlib.error, ValueError, TypeError, LookupError) as error:
        raise WireError(f"the job's data cannot be read: {type(error).__name__}") from error
    if function_name != FUNCTION_NAME:
        raise WireError("the job is for another function than ours")
    request = CorrectionRequest.from_wire(wire)
    if request.request_id != request_id:
        raise WireError("the job holds the request of another id")
    return request


def decode_delivery(request_id: str, fields: list[Any]) -> Delivery:
    """`fields`: as DRAIN and RESYNC give them. Raises WireError."""
    attempt, waited_us, raw, streams, left_us, is_suspect = fields
    if attempt > MAX_ATTEMPTS:
        raise WireError(f"gave up after {MAX_ATTEMPTS} attempts; the workers that ran it died or failed")
    left_s = inf if left_us < 0 else left_us / 1e6
    request = decode_request(raw, request_id)
    return Delivery(request, attempt, waited_us / 1e6, left_s, streams == b"1", bool(is_suspect))


def encode_completion(completion: Completion) -> bytes:
    """Encode it as it is stored and published."""
    wire = to_json(completion.to_wire())
    return b2a_base64(wire if completion.error is None else wire.decode().translate(_UNSAFE).encode(), newline=False)


def encode_progress(progress: Progress) -> bytes:
    """Encode it as it is published."""
    return b2a_base64(to_json(progress.to_wire()), newline=False)


def decode_news(payload: bytes) -> Completion | Progress:
    """What was stored or published. Raises WireError."""
    try:
        wire = from_json(a2b_base64(payload))
    except ValueError as error:
        raise WireError("the answer cannot be read") from error
    is_progress = isinstance(wire, dict) and "finish_reason" not in wire
    return Progress.from_wire(wire) if is_progress else Completion.from_wire(wire)


def outcome_of(job_id: str, state: bytes, payload: bytes) -> Completion | ServingError | None:
    """What CHECK and FIND say of a job. None where there is no outcome yet, or none any more."""
    if state == b"done":
        try:
            news = decode_news(payload)
        except WireError as error:
            return RequestFailed(f"the answer cannot be read: {error}")
        return news if isinstance(news, Completion) else RequestFailed("the answer is not complete")
    return Completion(job_id, _ENDS[state]) if state in _ENDS else None


def number(text: bytes | None) -> float:
    """Return 0 for what is no number: somebody else wrote it."""
    try:
        value = float(text or 0)
    except ValueError:
        return 0.0
    return value if isfinite(value) else 0.0


def finish_arguments(completion: Completion) -> tuple[Any, ...]:
    """What FINISH takes for each completion, but for the ticket of its delivery."""
    status = _STATUS.get(completion.finish_reason, "finished")
    error_text = b""
    if status == "failed":
        error_text = b2a_base64(zlib.compress((completion.error or "failed").encode()), newline=False)
    return completion.request_id, status, encode_completion(completion), error_text


def encode_submission(wanted: Submission, limits: MailboxLimits) -> bytes:
    """What ENQUEUE takes for one request, as JSON without what is not wanted. Sent again it has the rest of its time.

    Not MessagePack, which takes Redis 3.1 us in place of 5.2, and one package more.
    """
    jobs = [
        {"id": one.request_id, "tokens": one.reserved_tokens, "data": encode_request(one).decode()}
        for one in wanted.requests
    ]
    packed: dict[str, Any] = {"jobs": jobs, "client": wanted.client, "ttl": wanted.ttl_s(limits)}
    spent_s = monotonic() - wanted.since_s if wanted.since_s else 0.0
    if wanted.within_s is not None:
        packed["within_s"] = max(0.0, wanted.within_s - spent_s)
        if wanted.is_own_deadline:
            packed["is_own_deadline"] = True
    if wanted.may_be_known:
        packed["may_be_known"] = True
    if wanted.is_further:
        packed["is_further"] = True
    if wanted.manner is not ReplyMode.WAIT:
        packed["streams" if wanted.manner is ReplyMode.FOLLOW else "is_async"] = True
    if wanted.limits:
        packed["limits"] = wanted.limits
    if wanted.is_kept:
        packed["record"] = _record_of(wanted, limits)
    return to_json(packed)


def _record_of(wanted: Submission, limits: MailboxLimits) -> dict[str, Any]:
    within_s, about = wanted.within_s, {"key": wanted.key} if wanted.key else {}
    # Until its jobs' answers are forgotten: they may wait for all of their time, and run after that.
    ttl_s = limits.kept_ttl_s + ceil(limits.kept_ttl_s if within_s is None else within_s) + _LONGEST_RUN_S
    about |= {"document": wanted.document, "digest": wanted.digest, "maker": wanted.tokenizer_fingerprint}
    return about | {"id": wanted.request_id, "ttl": ttl_s}
