"""Reads the form of POST /v2/check: what is checked, in which language, by which rules.

Editors send rules and options of LanguageTool that mean nothing here; they are ignored, as LanguageTool ignores names
it does not know. Refusals name the field and never repeat the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_to_bytes

from pydantic import BaseModel, ConfigDict, StrictStr, TypeAdapter
from pydantic.alias_generators import to_camel
from werkzeug.http import parse_options_header

from api.languagetool.document import Document, Part
from api.languagetool.rules import RuleChoice
from scheduler.errors import InvalidRequest

MEDIA_TYPE = "application/x-www-form-urlencoded"
AUTO = "auto"
LANGUAGES = {
    "en": "English", "en-US": "English (US)", "en-GB": "English (GB)", "en-AU": "English (Australian)",
    "en-CA": "English (Canadian)", "en-NZ": "English (New Zealand)", "en-ZA": "English (South African)",
}  # fmt: skip
_BY_SMALL_CODE = {code.lower(): code for code in LANGUAGES}
_MAX_FIELDS = 64
_STEP_BYTES, _STEP_ITEMS = 8192, 256  # of a form and of its annotations between two pauses: 1 ms at most
_TEXT_LEVEL_ONLY = "textLevelOnly"
# Never in an encoded form. LibreOffice 7.4 and KDE's Lokalize send texts as they are.
_UNENCODED = re.compile(rb"[ \x80-\xff]")
_PART_NAME, _MAX_PART_HEAD_BYTES = re.compile(rb'[; ]name="([^"]*)"'), 1024
_TEXT_FIELD = re.compile(rb"(?:^|&)(text|data)=")


class Annotation(BaseModel):
    """A stretch of a document: `text`, or `markup` and what it stands for, such as a line break for `<br>`."""

    model_config = ConfigDict(alias_generator=to_camel)

    text: StrictStr | None = None
    markup: StrictStr | None = None
    interpret_as: StrictStr | None = None  # what readers see in the place of the markup


_ANNOTATIONS = TypeAdapter(list[Annotation])


class AnnotatedText(BaseModel):
    """The field `data`: JSON with the parts of the document in order, or with its text."""

    text: StrictStr | None = None
    annotation: list[Any] | None = None  # of Annotation: checked a few at a time


class CheckForm(BaseModel):
    """The form of POST /v2/check; api/openapi.yaml says what each field is for."""

    model_config = ConfigDict(alias_generator=to_camel)

    text: str = ""
    data: str = ""
    language: str
    preferred_variants: str = ""
    enabled_rules: str = ""
    disabled_rules: str = ""
    enabled_categories: str = ""
    disabled_categories: str = ""
    enabled_only: str = "false"
    api_key: str = ""
    mode: str = "all"

    @property
    def is_auto(self) -> bool:
        return self.language.lower() == AUTO

    @property
    def looks_at_sentences(self) -> bool:
        return self.mode != _TEXT_LEVEL_ONLY

    def code(self) -> str:
        """The code of the English that is meant. Raises InvalidRequest for other languages."""
        if self.is_auto:
            variants = [_BY_SMALL_CODE.get(name.lower()) for name in _names(self.preferred_variants)]
            return next((code for code in variants if code), "en-US")
        code = _BY_SMALL_CODE.get(self.language.strip().lower())
        if code is None:
            allowed = ", ".join([*LANGUAGES, AUTO])
            raise InvalidRequest("language", f"This server checks English only; allowed for 'language' are: {allowed}.")
        return code

    def rules(self) -> RuleChoice:
        """Raises InvalidRequest where the fields contradict each other."""
        lists = (self.enabled_rules, self.disabled_rules, self.enabled_categories, self.disabled_categories)
        enabled, disabled, enabled_categories, disabled_categories = (frozenset(_names(one)) for one in lists)
        is_closed = self.enabled_only in ("true", "yes")
        if is_closed and (disabled or disabled_categories):
            raise InvalidRequest("enabledOnly", "'enabledOnly' leaves out all else: send no disabled rules with it.")
        if is_closed and not (enabled or enabled_categories):
            raise InvalidRequest("enabledOnly", "'enabledOnly' needs 'enabledRules' or 'enabledCategories'.")
        return RuleChoice(enabled, disabled, enabled_categories, disabled_categories, is_closed)

    def document(self, pause: Callable[[], None]) -> Document:
        """Raises InvalidRequest."""
        return _annotated(self.data, pause) if self.data else Document.of_text(self.text, pause)


_OPTIONS = {to_camel(name) for name in CheckForm.model_fields} - {"text", "data"}
# A field behind a text that is not encoded; the last three are LanguageTool's, and mean nothing here.
_OPTION = re.compile(f"&(?:{'|'.join(_OPTIONS)}|level|motherTongue|username)=[!-~]*".encode())


def parse_form(query: bytes, body: bytes, media_type: str, pause: Callable[[], None]) -> CheckForm:
    """What the body says, and the query before it. `pause` is called now and then: a form may be long.

    Only a form in parts is recognised by its media type: editors send the usual one as JSON or as text. Raises
    InvalidRequest.
    """
    is_multipart = media_type.lower().startswith("multipart/") and body.lstrip().startswith(b"--")
    try:
        if is_multipart:
            fields = _multipart(body, media_type)
        else:
            fields = _unencoded(body, pause) if _UNENCODED.search(body) else _encoded(body, pause)
        fields |= _encoded(query, pause)
    except UnicodeDecodeError:
        raise InvalidRequest("body", "The form is not UTF-8.") from None
    if "language" not in fields:
        raise InvalidRequest("language", "'language' is missing; send a form, with 'language=en-US', for instance.")
    if not {"text", "data"} & fields.keys() or (
        fields.get("text") and fields.get("data")
    ):  # generated clients send one empty
        raise InvalidRequest("text", "Send either 'text' or 'data': the text, or JSON of text and markup.")
    return CheckForm.model_validate(fields)


def _encoded(form: bytes, pause: Callable[[], None]) -> dict[str, str]:
    """Raises InvalidRequest, UnicodeDecodeError."""
    return {_unquoted(name, pause): _unquoted(value, pause) for name, value in _pairs(form)}


def _unencoded(form: bytes, pause: Callable[[], None]) -> dict[str, str]:
    """Nothing is escaped, so that the text may hold `&`: it ends where the last `language` begins.

    Where known fields stand right before that, or at the end of the form, it ends before them: curl's `-d` sends it so.

    Raises InvalidRequest, UnicodeDecodeError.
    """
    begin = _TEXT_FIELD.search(form)
    if begin is None:
        return _encoded(form, pause)
    end = form.rfind(b"&language=", begin.end())
    end = len(form) if end < 0 else end
    for _ in range(_MAX_FIELDS):
        field = form.rfind(b"&", begin.end(), end)
        if field < 0 or not _OPTION.fullmatch(form, field, end):
            break
        end = field
    rest = {name.decode(): value.decode() for name, value in _pairs(form[: begin.start()] + form[end:])}
    return rest | {begin[1].decode(): form[begin.end() : end].decode()}


def _multipart(form: bytes, media_type: str) -> dict[str, str]:
    """A file is a field, too. Werkzeug's parser has no bound on its time. Raises as `_unencoded`."""
    boundary = b"\r\n--" + parse_options_header(media_type)[1].get("boundary", "").encode()
    fields = {}
    for part in (b"\r\n" + form.lstrip()).split(boundary, _MAX_FIELDS + 2)[1:-1]:
        head, _, value = part.partition(b"\r\n\r\n")
        if name := _PART_NAME.search(head[:_MAX_PART_HEAD_BYTES]):
            fields[name[1].decode()] = value.decode()
    if len(fields) > _MAX_FIELDS:
        raise _too_many_fields()
    return fields


def _pairs(form: bytes) -> list[tuple[bytes, bytes]]:
    """Raises InvalidRequest."""
    if form.count(b"&") >= _MAX_FIELDS:
        raise _too_many_fields()
    return [(name, value) for name, _, value in (pair.partition(b"=") for pair in form.split(b"&")) if name]


def _too_many_fields() -> InvalidRequest:
    return InvalidRequest("body", f"The form has more than {_MAX_FIELDS} fields.")


def _unquoted(text: bytes, pause: Callable[[], None]) -> str:
    """Raises UnicodeDecodeError."""
    done, at = [], 0
    while at < len(text):
        end = at + _STEP_BYTES
        escape = text.rfind(b"%", end - 2, end)  # one that would be cut in two
        end = end if escape < 0 else escape
        done.append(unquote_to_bytes(text[at:end].replace(b"+", b" ")))
        at = end
        if at < len(text):
            pause()
    return b"".join(done).decode()


def _annotated(data: str, pause: Callable[[], None]) -> Document:
    parts: list[Part] = []
    try:
        pause()
        document = json.loads(data)
        pause()
        found = AnnotatedText.model_validate(document)
        for at in range(0, len(found.annotation or ()), _STEP_ITEMS):
            items = _ANNOTATIONS.validate_python((found.annotation or [])[at : at + _STEP_ITEMS])
            parts += [_part(number, one) for number, one in enumerate(items, start=at)]
            pause()
    except (ValueError, RecursionError):  # a ValidationError is a ValueError
        example = '{"annotation": [{"text": "A "}, {"markup": "<b>"}, {"text": "word"}]}'
        raise InvalidRequest("data", f"'data' must be JSON such as {example}.") from None
    if (found.text is None) == (found.annotation is None):
        raise InvalidRequest("data", "'data' must have either 'text' or 'annotation'.")
    return Document.of_text(found.text, pause) if found.text is not None else Document(parts, pause)


def _part(number: int, found: Annotation) -> Part:
    if (found.text is None) == (found.markup is None):
        raise InvalidRequest("data", f"Item {number} of 'annotation' must have either 'text' or 'markup'.")
    if found.text is not None:
        return Part(found.text, found.text, True)
    return Part(found.markup or "", found.interpret_as or "", False)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
