"""Reads the form of POST /v2/check: what is checked, in which language, by which rules.

Editors send rules and options of LanguageTool that mean nothing here; they are ignored, as LanguageTool ignores names
it does not know. Refusals name the field and never repeat the text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import parse_qsl

from api.grammar.pipeline import Level
from api.languagetool.document import Document, Part
from api.languagetool.rules import RULES, Rule
from scheduler.errors import InvalidRequest

AUTO = "auto"
LANGUAGES = {
    "en": "English", "en-US": "English (US)", "en-GB": "English (GB)", "en-AU": "English (Australian)",
    "en-CA": "English (Canadian)", "en-NZ": "English (New Zealand)", "en-ZA": "English (South African)",
}  # fmt: skip
_BY_SMALL_CODE = {code.lower(): code for code in LANGUAGES}
_MAX_FIELDS = 64
# Never in an encoded form. LibreOffice 7.4 and KDE's Lokalize send texts as they are.
_UNENCODED = re.compile(rb"[ \x80-\xff]")
_TEXT_FIELD = re.compile(rb"(?:^|&)(text|data)=")


@dataclass(slots=True)
class CheckForm:
    """The form of POST /v2/check; api/openapi.yaml says what each field is for."""

    language: str
    text: str = ""
    data: str = ""
    preferred_variants: str = ""
    enabled_rules: str = ""
    disabled_rules: str = ""
    enabled_categories: str = ""
    disabled_categories: str = ""
    enabled_only: str = "false"
    api_key: str = ""
    mode: str = "all"
    level: str = "default"

    @property
    def is_auto(self) -> bool:
        return self.language.lower() == AUTO

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

    def level_of_edits(self) -> Level:
        """How doubtful edits may be. Raises InvalidRequest."""
        if level := _LEVELS.get(self.level.lower()):
            return level
        raise InvalidRequest("level", "Allowed for 'level' are 'default' and 'picky'; it may be left out.")

    def rules(self) -> frozenset[Rule]:
        """The wanted ones: a name counts more than a category. Raises InvalidRequest for fields that contradict."""
        lists = self.enabled_rules, self.disabled_rules, self.enabled_categories, self.disabled_categories
        on, off, categories_on, categories_off = (frozenset(_names(one)) for one in lists)
        is_closed = self.enabled_only in ("true", "yes")
        if is_closed and (off or categories_off):
            raise InvalidRequest("enabledOnly", "'enabledOnly' leaves out all else: send no disabled rules with it.")
        if is_closed and not (on or categories_on):
            raise InvalidRequest("enabledOnly", "'enabledOnly' needs 'enabledRules' or 'enabledCategories'.")

        def is_wanted(rule: Rule) -> bool:
            if rule.id in on or rule.id in off:
                return rule.id in on
            return rule.category in categories_on or not (is_closed or rule.category in categories_off)

        return frozenset(filter(is_wanted, RULES))

    def document(self) -> Document:
        """Raises InvalidRequest."""
        return Document(_annotated(self.data) if self.data else [Part(self.text, self.text, True)])


_LEVELS: dict[str, Level] = {"default": "quiet", "": "quiet", "picky": "picky"}
NAMES = {re.sub("_(.)", lambda found: found[1].upper(), one.name): one.name for one in fields(CheckForm)}
# A field behind a text that is not encoded; the last two are LanguageTool's, and mean nothing here.
_OPTION = re.compile(f"&(?:{'|'.join(NAMES.keys() - {'text', 'data'})}|motherTongue|username)=[!-~]*".encode())


def parse_form(query: bytes, body: bytes) -> CheckForm:
    """What the body says, and the query before it. Raises InvalidRequest.

    The media type does not count: editors send a form as JSON or as text.
    """
    try:
        sent = _unencoded(body) if _UNENCODED.search(body) else _encoded(body)
        sent |= _encoded(query)
    except UnicodeDecodeError:
        raise InvalidRequest("body", "The form is not UTF-8.") from None
    except ValueError:
        raise InvalidRequest("body", f"The form has more than {_MAX_FIELDS} fields.") from None
    if "language" not in sent:
        raise InvalidRequest("language", "'language' is missing; send a form, with 'language=en-US', for instance.")
    both = sent.get("text") and sent.get("data")  # generated clients send one empty
    if both or not {"text", "data"} & sent.keys():
        raise InvalidRequest("text", "Send either 'text' or 'data': the text, or JSON of text and markup.")
    return CheckForm(**{NAMES[name]: value for name, value in sent.items() if name in NAMES})


def _encoded(form: bytes) -> dict[str, str]:
    """Raises UnicodeDecodeError, and ValueError for too many fields."""
    return dict(parse_qsl(form.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS))


def _unencoded(form: bytes) -> dict[str, str]:
    """Nothing is escaped, so that the text may hold `&`: it ends where the last `language` begins. Raises as above.

    Where known fields stand right before that, or at the end of the form, it ends before them: curl's `-d` sends it so.
    """
    begin = _TEXT_FIELD.search(form)
    if begin is None:
        return _encoded(form)
    end = form.rfind(b"&language=", begin.end())
    end = len(form) if end < 0 else end
    for _ in range(_MAX_FIELDS):
        field = form.rfind(b"&", begin.end(), end)
        if field < 0 or not _OPTION.fullmatch(form, field, end):
            break
        end = field
    return _encoded(form[: begin.start()] + form[end:]) | {begin[1].decode(): form[begin.end() : end].decode()}


def _annotated(data: str) -> list[Part]:
    """The parts of `data`: JSON with the text, or with text and markup in order. Raises InvalidRequest."""
    try:
        document = json.loads(data)
        text, annotation = document.get("text"), document.get("annotation")
        if (text is None) == (annotation is None):
            raise InvalidRequest("data", "'data' must have either 'text' or 'annotation'.")
        return [_part(*one) for one in enumerate([{"text": text}] if annotation is None else annotation)]
    except (ValueError, TypeError, AttributeError, RecursionError):
        example = '{"annotation": [{"text": "A "}, {"markup": "<b>"}, {"text": "word"}]}'
        raise InvalidRequest("data", f"'data' must be JSON such as {example}.") from None


def _part(number: int, found: dict[str, Any]) -> Part:
    """Raises TypeError or AttributeError for what is no string, InvalidRequest."""
    text: Any = found.get("text")
    markup: Any = found.get("markup")
    if (text is None) == (markup is None):
        raise InvalidRequest("data", f"Item {number} of 'annotation' must have either 'text' or 'markup'.")
    part = Part(markup, found.get("interpretAs") or "", False) if text is None else Part(text, text, True)
    "".join(part[:2])
    return part


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
