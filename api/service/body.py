"""Checks the bodies of POST /correct and POST /correct/batch, and every text, that of the command line too.

Refusals name the field and what is allowed, and never repeat the text. An unknown member is refused, and so is an
unknown parameter of the query: a misspelt one would be ignored in silence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import count
from typing import Any, get_args
from urllib.parse import parse_qsl

from api.grammar.pipeline import Level
from api.grammar.reading import Offsets
from scheduler.errors import InvalidRequest, MalformedJson
from scheduler.messages import MAX_SENTENCES

MAX_LEARNER_ID_CHARACTERS = 64
# Tab, newline and carriage return are text.
_NO_TEXT = re.compile(r"([\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f])|[\ud800-\udfff]")
_TEXTS = {  # member: its type, that in words, where it goes to, and an example
    "sentence": (str, "string", "/correct", '{"sentence": "He goed to school"}'),
    "sentences": (list, "list of strings", "/correct/batch", '{"sentences": ["He goed to school"]}'),
}
_ALIAS = "text"  # of `sentence`
_CHOICES = {"offsets": get_args(Offsets), "level": get_args(Level)}  # in the body or in the query
_OPTIONS = "learner_id", "min_confidence", *_CHOICES
_LONGEST_SHOWN = 32  # characters of what a client sent
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(slots=True, kw_only=True)
class CorrectionBody:
    """The body of POST /correct."""

    sentence: str
    learner_id: str | None = None
    min_confidence: float = 0.0
    offsets: Offsets = "codepoints"
    level: Level = "quiet"

    @property
    def num_characters(self) -> int:
        return len(self.sentence)


@dataclass(slots=True, kw_only=True)
class BatchBody:
    """The body of POST /correct/batch."""

    sentences: list[Any]  # in place of an item that cannot be a text, its refusal
    learner_id: str | None = None
    min_confidence: float = 0.0
    offsets: Offsets = "codepoints"
    level: Level = "quiet"

    @property
    def num_characters(self) -> int:
        return sum([len(text) for text in self.sentences if isinstance(text, str)])


Body = CorrectionBody | BatchBody


def parse_body(raw: bytes, query: bytes = b"") -> CorrectionBody:
    """Raises MalformedJson where the bytes are no JSON, InvalidRequest where the JSON is not a request."""
    members = _members_of(raw, query, "sentence")
    check_sentence(members["sentence"])
    return CorrectionBody(**members)


def parse_batch(raw: bytes, query: bytes = b"") -> BatchBody:
    """Raises as `parse_body`, but the refusal of an item takes its place."""
    members = _members_of(raw, query, "sentences")
    if not 1 <= (number := len(members["sentences"])) <= MAX_SENTENCES:
        found = f"`sentences` has {number:,} items; allowed are 1 to {MAX_SENTENCES}."
        raise InvalidRequest("sentences", found)
    members["sentences"] = list(map(_checked_item, count(), members["sentences"]))
    return BatchBody(**members)


def _checked_item(index: int, item: Any) -> str | InvalidRequest:
    if not isinstance(item, str):
        return InvalidRequest("sentences", f"`sentences[{index}]` has the wrong type; each must be a string.")
    try:
        check_sentence(item)
    except InvalidRequest as error:
        return error
    return item


def _members_of(raw: bytes, query: bytes, name: str) -> dict[str, Any]:
    """The member of that name, which has the texts, and the options. Raises MalformedJson, InvalidRequest."""
    document, (kind, kind_in_words, _, example) = _load_json(raw), _TEXTS[name]
    if not isinstance(document, dict):
        raise InvalidRequest("body", f"The body must be a JSON object such as {example}.")
    if name == "sentence" and _ALIAS in document:
        if name in document:
            raise InvalidRequest(_ALIAS, f"`{_ALIAS}` is another name of `{name}`; send one of the two.")
        document[name] = document.pop(_ALIAS)
    unknown = document.keys() - {name, *_OPTIONS}
    elsewhere = [other for other in _TEXTS if other in unknown]
    if name not in document and (elsewhere or not unknown):
        there = "".join([f" `{other}` goes to POST {_TEXTS[other][2]}." for other in elsewhere])
        raise InvalidRequest(name, f"`{name}` is missing; send {example}.{there}")
    if unknown:
        raise _unknown("member", min(unknown), (name, *_OPTIONS))
    if not isinstance(document[name], kind):
        raise _wrong_type(name, kind_in_words)
    learner_id, least = document.get("learner_id"), document.get("min_confidence", 0.0)
    if learner_id is not None:
        check_learner_id(learner_id)
    if type(least) not in (int, float):
        raise _wrong_type("min_confidence", "number from 0 to 1")
    if not 0 <= least <= 1:
        allowed = "send a number from 0 to 1, or leave it out"
        raise InvalidRequest("min_confidence", f"`min_confidence` is {str(least)[:_LONGEST_SHOWN]}; {allowed}.")
    asked = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True)) if query else {}
    if unknown := asked.keys() - _CHOICES:
        raise _unknown("query parameter", min(unknown), (*_CHOICES,))
    chosen = {choice: _choice(choice, asked, document) for choice in _CHOICES}
    return {name: document[name], "learner_id": learner_id, "min_confidence": float(least), **chosen}


def _choice(name: str, *sent: dict[str, Any]) -> str:
    """The last word that was sent for it, or else the first that it may be. Raises InvalidRequest."""
    allowed = _CHOICES[name]
    found = allowed[0]
    for found in [members[name] for members in sent if name in members]:
        if not isinstance(found, str):
            raise _wrong_type(name, "string")
        if found not in allowed:
            raise InvalidRequest(name, f"`{name}` is {ascii(found[:_LONGEST_SHOWN])}; send {' or '.join(allowed)}.")
    return found


def _unknown(kind: str, name: str, known: Sequence[str]) -> InvalidRequest:
    shown = ascii(name[:_LONGEST_SHOWN])[1:-1]  # it may hold anything
    nearest = get_close_matches(shown, known, 1)
    remedy = f"did you mean `{nearest[0]}`?" if nearest else f"known are {', '.join(known)}."
    return InvalidRequest(shown, f"The {kind} `{shown}` is unknown; {remedy}")


def check_sentence(sentence: str) -> None:
    """Raises InvalidRequest for what cannot be a text; its length is checked by the text pipeline."""
    if not sentence or sentence.isspace():
        found = "blank" if sentence else "empty"
        raise InvalidRequest("sentence", f"`sentence` is {found}; send an English sentence, or a text of several.")
    _check_characters("sentence", sentence)


def check_learner_id(learner_id: str) -> None:
    """Raises InvalidRequest."""
    if not isinstance(learner_id, str):
        raise _wrong_type("learner_id", "string")
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


def _wrong_type(field: str, allowed: str) -> InvalidRequest:
    return InvalidRequest(field, f"`{field}` has the wrong type; it must be a {allowed}.")
