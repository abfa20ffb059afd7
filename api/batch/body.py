"""Checks the body of POST /correct/batch. What is wrong with one text is said in its place."""

from __future__ import annotations

from itertools import count
from typing import Any

from pydantic import BaseModel, Field, StrictStr

from api.http.schema import check_sentence, validated
from scheduler.errors import InvalidRequest
from scheduler.messages import MAX_SENTENCES


class BatchBody(BaseModel):
    """The body of POST /correct/batch."""

    # Any: where an item cannot be a text, `parse_batch` puts the refusal in its place.
    sentences: list[Any]
    learner_id: StrictStr | None = None
    min_confidence: float = Field(0.0, ge=0, le=1, strict=True)


def parse_batch(raw: bytes) -> BatchBody:
    """Raises as `parse_body`, but what is wrong with one item takes the place of that item."""
    body = validated(BatchBody, raw, '{"sentences": ["He goed to school"]}')
    if not 1 <= len(body.sentences) <= MAX_SENTENCES:
        found = f"`sentences` has {len(body.sentences):,} items; allowed are 1 to {MAX_SENTENCES}."
        raise InvalidRequest("sentences", found)
    body.sentences = list(map(_checked_item, count(), body.sentences))
    return body


def _checked_item(index: int, item: Any) -> str | InvalidRequest:
    if not isinstance(item, str):
        return InvalidRequest("sentences", f"`sentences[{index}]` has the wrong type; each must be a string.")
    try:
        check_sentence(item)
    except InvalidRequest as error:
        return error
    return item
