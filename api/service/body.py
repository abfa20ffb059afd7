"""Checks the body of POST /correct, and every sentence, those of batches and of the command line too.

Refusals name the field and what is allowed, and never repeat the text. Unknown members are ignored, so that a newer
client can talk to an older server.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, Field, StrictStr, ValidationError

from scheduler.errors import InvalidRequest, MalformedJson

MAX_LEARNER_ID_CHARACTERS = 64
# Tab, newline and carriage return are text.
_NO_TEXT = re.compile(r"([\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f])|[\ud800-\udfff]")
_PATHS = {"sentence": "/correct", "sentences": "/correct/batch"}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class RequestOptions(BaseModel):
    """What a body may hold in addition to its texts."""

    learner_id: StrictStr | None = None
    min_confidence: float = Field(0.0, ge=0, le=1, strict=True)


class CorrectionBody(RequestOptions):
    """The body of POST /correct. Its texts are checked below: faster than by pydantic, and with more to say."""

    sentence: StrictStr


_Body = TypeVar("_Body", bound=BaseModel)


def parse_body(raw: bytes) -> CorrectionBody:
    """Raises MalformedJson where the bytes are no JSON, InvalidRequest where the JSON is not a request."""
    body = validated(CorrectionBody, raw, '{"sentence": "He goed to school"}')
    check_sentence(body.sentence)
    return body


def validated(kind: type[_Body], raw: bytes, example: str) -> _Body:
    """Raises MalformedJson, InvalidRequest."""
    document = _load_json(raw)
    if not isinstance(document, dict):
        raise InvalidRequest("body", f"The body must be a JSON object such as {example}.")
    try:
        body = kind.model_validate(document)
    except ValidationError as error:
        raise _invalid(error, example) from None
    if (learner_id := document.get("learner_id")) is not None:
        check_learner_id(learner_id)
    return body


def check_sentence(sentence: str) -> None:
    """Raises InvalidRequest for what cannot be a text; its length is checked by the text pipeline."""
    if not sentence or sentence.isspace():
        found = "blank" if sentence else "empty"
        raise InvalidRequest("sentence", f"`sentence` is {found}; send an English sentence, or a text of several.")
    _check_characters("sentence", sentence)


def check_learner_id(learner_id: str) -> None:
    """Raises InvalidRequest."""
    if not 1 <= len(learner_id) <= MAX_LEARNER_ID_CHARACTERS:
        allowed = f"1 to {MAX_LEARNER_ID_CHARACTERS} characters"
        raise InvalidRequest("learner_id", f"`learner_id` has {len(learner_id)} characters; allowed: {allowed}.")
    _check_characters("learner_id", learner_id)


def _check_characters(field: str, text: str) -> None:
    found = None if text.isprintable() else _NO_TEXT.search(text)
    if found is None:
        return
    where = f"U+{ord(found.group()):04X} at character {found.start()}"
    if found[1]:
        what = f"the control character {where}; the only ones allowed are tab and line breaks."
    else:
        what = f"half a character, the lone surrogate {where}; send valid Unicode."
    raise InvalidRequest(field, f"`{field}` holds {what}")


def _load_json(raw: bytes) -> Any:
    if not raw:
        raise MalformedJson('The body is empty; send JSON such as {"sentence": "He goed to school"}.')
    try:
        return _DECODER.decode(raw.removeprefix(_BYTE_ORDER_MARK).decode())
    except UnicodeDecodeError as error:
        raise MalformedJson(f"The body is not UTF-8: byte {error.start} is invalid.") from None
    except json.JSONDecodeError as error:
        raise MalformedJson(
            f"The body is not JSON: {error.msg.removesuffix(' at')} at character {error.pos}."
        ) from None
    except (ValueError, RecursionError):
        raise MalformedJson("The body is not JSON that can be read: a number too long or nesting too deep.") from None


def _refuse_constant(name: str) -> Any:
    raise MalformedJson(f"The body is not JSON: {name} is not a JSON value.")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)  # json.loads would make a new one every time: 9 us


def _invalid(error: ValidationError, example: str) -> InvalidRequest:
    first = error.errors(include_url=False, include_context=False)[0]
    field = str(first["loc"][0])
    if first["type"] == "missing":
        there = "".join([f" `{name}` goes to POST {path}." for name, path in _PATHS.items() if name in first["input"]])
        return InvalidRequest(field, f"`{field}` is missing; send {example}.{there}")
    if field == "min_confidence" and type(first["input"]) in (int, float):
        found = str(first["input"])[:32]
        return InvalidRequest(field, f"`{field}` is {found}; send a number from 0 to 1, or leave it out.")
    kind = {"list_type": "list of strings", "float_type": "number from 0 to 1"}.get(first["type"], "string")
    return InvalidRequest(field, f"`{field}` has the wrong type; it must be a {kind}.")
