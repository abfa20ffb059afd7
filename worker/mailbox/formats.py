"""Our messages in RQ's clothes: the job's `data`, the stored result, the text of a failure.

JSON throughout, never pickle, and no code name is ever imported from what is read. RQ's tools show descriptions and
results unescaped in a browser: descriptions hold numbers only, and `<`, `>`, `&` of a result are escaped.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from typing import Any

from scheduler.messages import Completion, CorrectionRequest, FinishReason, Progress, WireError

FUNCTION_NAME = "miniserve.correct"  # what RQ's tools show as the job's function; there is no such function
_UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_JOB_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")  # RQ's rule: a colon separates id and owner in rq:wip
_TRACEPARENT_KEY = b',"traceparent":'
_TRACEPARENT = re.compile(_TRACEPARENT_KEY + rb'"[^"]*"')
_STATUS = {
    FinishReason.LENGTH: "length",
    FinishReason.CANCELLED: "canceled",
    FinishReason.EXPIRED: "expired",
    FinishReason.ERROR: "failed",
}


def is_request_id(text: str) -> bool:
    """Whether it may be the id of a job, or of a request."""
    return _JOB_ID.fullmatch(text) is not None


def check_request_id(request_id: str) -> None:
    """Raises ValueError."""
    if not is_request_id(request_id):
        raise ValueError(f"request id {request_id!r}; allowed are letters, digits, '_' and '-', at most 128")


def encode_request(request: CorrectionRequest) -> bytes:
    """RQ's `data`: function, instance, arguments, keyword arguments."""
    return _dumps([FUNCTION_NAME, None, [request.to_wire()], {}]).encode()


def decode_request(raw: bytes, request_id: str) -> CorrectionRequest:
    """Read `data`, plain or zlib'd (as RQ's own tools write it back). Raises WireError."""
    try:
        if raw[:1] != b"[":
            raw = zlib.decompress(raw)
        function_name, _, arguments, _ = json.loads(raw)
        wire = arguments[0]
    except (zlib.error, ValueError, TypeError, LookupError, RecursionError) as error:
        raise WireError(f"the job's data cannot be read: {type(error).__name__}") from error
    if function_name != FUNCTION_NAME:
        raise WireError("the job is for another function than ours")
    request = CorrectionRequest.from_wire(wire)
    if request.request_id != request_id:
        raise WireError("the job holds the request of another id")
    return request


def body_hash(encoded: bytes, request_id: str) -> str:
    """Of `encode_request`'s bytes; equal for equal work: everything but the id, and whose trace it belongs to."""
    if _TRACEPARENT_KEY in encoded:
        encoded = _TRACEPARENT.sub(b"", encoded, count=1)
    return hashlib.blake2b(encoded.replace(f'"{request_id}"'.encode(), b"", 1), digest_size=16).hexdigest()


def describe(request: CorrectionRequest) -> str:
    """What RQ's tools show of the job: numbers, never text of the user."""
    return f"correct: {len(request.prompt_ids)} prompt tokens, at most {request.max_output_tokens} more"


def encode_completion(completion: Completion) -> bytes:
    """As it is stored and published."""
    return base64.b64encode(_dumps(completion.to_wire()).translate(_UNSAFE).encode())


def decode_completion(payload: bytes) -> Completion:
    """Raises WireError."""
    try:
        return Completion.from_wire(json.loads(base64.b64decode(payload)))
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, WireError) else WireError("the completion cannot be read") from error


def encode_progress(progress: Progress) -> bytes:
    """As it is published."""
    return base64.b64encode(_dumps(progress.to_wire()).encode())


def decode_news(payload: bytes) -> Completion | Progress:
    """Whatever is published. Raises WireError."""
    try:
        wire = json.loads(base64.b64decode(payload))
    except (ValueError, RecursionError) as error:
        raise WireError("what was published cannot be read") from error
    is_progress = isinstance(wire, dict) and "finish_reason" not in wire
    return Progress.from_wire(wire) if is_progress else Completion.from_wire(wire)


def finish_arguments(completion: Completion) -> tuple[Any, ...]:
    """The four arguments that FINISH takes for each completion."""
    status = _STATUS.get(completion.finish_reason, "finished")
    error_text = b""
    if status == "failed":
        error_text = base64.b64encode(zlib.compress((completion.error or "failed").encode()))
    return completion.request_id, status, encode_completion(completion), error_text


def _dumps(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
