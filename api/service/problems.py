"""Errors as `application/problem+json` (RFC 9457).

`type` is `urn:miniserve:problem:<slug>`; the slugs are those of `scheduler/errors.py` and never change. Used by the
HTTP handlers and by `miniserve correct`, which prints the same objects.
"""

from __future__ import annotations

import json
import math
from typing import Any

from scheduler.errors import InvalidRequest, Overloaded, SentenceTooLong, ServingError
from scheduler.messages import MAX_PROMPT_TOKENS, MAX_WORDS

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:miniserve:problem:"
# JSON as people read it: other scripts and emoji stay what they are.
to_json = json.JSONEncoder(ensure_ascii=False).encode


def problem(error: ServingError, request_id: str | None = None) -> dict[str, Any]:
    """The problem document of an error: the standard members and those of its kind."""
    document: dict[str, Any] = {
        "type": TYPE_PREFIX + error.slug,
        "title": error.title,
        "status": error.status,
        "detail": str(error) or error.title,
    }
    if isinstance(error, InvalidRequest):
        document["field"] = error.field
    elif isinstance(error, SentenceTooLong):
        document |= {"num_words": error.num_words, "max_words": MAX_WORDS, "max_tokens": MAX_PROMPT_TOKENS}
        if error.num_tokens is not None:
            document["num_tokens"] = error.num_tokens
    elif isinstance(error, Overloaded):
        # Whole seconds, as Retry-After wants them; never 0, which would invite an instant retry.
        document["retry_after_s"] = max(1, math.ceil(error.retry_after_s))
    return document if request_id is None else document | {"request_id": request_id}
