"""The answer of POST /v2/check: what was found, in the members and the units that LanguageTool's clients know."""

from __future__ import annotations

from typing import Any, cast

from api.grammar.correction import Edit, Note, Part, edit_as_sent
from api.grammar.drafts import TextDraft
from api.grammar.language import NOT_ENGLISH, PARTLY_ENGLISH, are_foreign, language_of
from api.http.replies import JSON, Reply
from api.languagetool.document import Document, Span
from api.languagetool.form import LANGUAGES, CheckForm
from api.languagetool.rules import OF_REASON, TOO_LONG, Rule
from api.service.problems import to_json
from api.version import package_version
from scheduler.errors import ServingError

_CONTEXT = 40  # characters on each side, as LanguageTool
MOST_BYTES = 4 * 1024 * 1024  # of matches: some 6,000, of a form of at most 40,000 words
_TOO_MANY = "There are more mistakes than one answer holds, and the rest is not checked. Send the document in parts."


class Answer:
    """Takes the sentences in order, each with what became of it."""

    def __init__(self, document: Document, form: CheckForm) -> None:
        """Raises InvalidRequest."""
        self.document = document
        self._detected = language_of(document.plain)
        self.is_english = not form.is_auto or self._detected.is_english
        self._is_auto = form.is_auto
        self._code = form.code()
        self._rules = form.rules()
        self.level = form.level_of_edits()
        self._matches, self._sentence_ranges = bytearray(), bytearray()  # as JSON: of a long document megabytes
        self._doubtful: list[str] = []  # sentences that by themselves seem not to be English
        self._num_sentences = self._num_skipped = 0
        self.is_cut = False  # it ended before all sentences were added
        self.failure: ServingError | None = None  # why sentences are missing that could have been checked

    def add(self, draft: TextDraft) -> None:
        """Take the answers that the draft of the document has, in order, and why some are missing."""
        reading = draft.reading
        items: list[Part | Note] = [*draft.parts, *draft.skipped]
        for item in sorted(items, key=lambda item: item.start):
            end = item.end if isinstance(item, Note) else item.start + len(item.sentence)
            start, end = reading.place(item.start), reading.end(end)
            sentence, place = reading.sent[start:end], self.document.span(start, end)
            self._num_sentences += 1
            if place:
                _append(self._sentence_ranges, self._utf16(place))
            if isinstance(item, Note):
                self._num_skipped += 1
                if place and TOO_LONG in self._rules:
                    self._add_match(place, TOO_LONG, sentence, {"message": f"Not checked. {item.detail}"})
                continue
            if not item.language.is_english:
                self._doubtful.append(sentence)
            for edit in item.edits:
                self._add_edit(edit_as_sent(reading, item.start, edit), sentence)
        draft.parts.clear()
        draft.skipped.clear()
        self.failure = draft.failure or self.failure

    def _add_edit(self, edit: Edit, sentence: str) -> None:
        rule, span = OF_REASON[edit.reason], self.document.span(edit.start, edit.end)
        if span and rule in self._rules:
            offer = [{"value": edit.replacement, "confidence": edit.confidence}]
            self._add_match(span, rule, sentence, {"message": edit.explanation, "replacements": offer})

    @property
    def has_checked(self) -> bool:
        return self._num_sentences > 0

    @property
    def is_full(self) -> bool:
        """Whether no further batch of sentences is to be added."""
        return len(self._matches) >= MOST_BYTES

    def reply(self) -> Reply:
        """The JSON object, in the place of the matches: they are in memory once."""
        language: dict[str, Any] = {"name": LANGUAGES[self._code], "code": self._code}
        detected = language if self._detected.is_english else {"name": "Undetermined", "code": self._detected.code}
        detected = detected | {"confidence": self._detected.confidence, "source": "words"}
        software = {
            "name": "miniserve", "version": package_version(), "buildDate": "", "apiVersion": 1,
            "premium": False, "status": "",
        }  # fmt: skip
        language |= {"detectedLanguage": detected}
        about = {"software": software, "warnings": self._warnings(), "language": language}
        body = self._matches
        body[:0] = to_json(about)[:-1].encode() + b', "matches": ['
        body += b'], "sentenceRanges": [' + self._sentence_ranges + b"]}\n"
        return Reply(cast(bytes, body), 200, [("Content-Type", JSON), ("Content-Length", str(len(body)))])

    def _warnings(self) -> dict[str, Any]:
        if not self.is_english:
            return _incomplete(NOT_ENGLISH)
        if self.failure:
            return _incomplete(f"Not all is checked. {self.failure}")
        if self.is_cut:
            return _incomplete(_TOO_MANY)
        if self._num_skipped:
            return _incomplete(
                f"{self._num_skipped} of {self._num_sentences} sentences are too long; they are skipped."
            )
        if self._is_auto and are_foreign(self._doubtful):
            return _incomplete(PARTLY_ENGLISH)
        return {"incompleteResults": False}

    def _add_match(self, span: Span, rule: Rule, sentence: str, more: dict[str, Any]) -> None:
        offset, end = self._utf16(span)
        match = {
            "message": "", "shortMessage": rule.description, "replacements": [],
            "offset": offset, "length": end - offset, "context": self._context(span), "sentence": sentence,
            "type": {"typeName": "Other"}, "rule": rule.document(),
            "ignoreForIncompleteSentence": False, "contextForSureMatch": 0,
        }  # fmt: skip
        _append(self._matches, match | more)

    def _context(self, span: Span) -> dict[str, Any]:
        """The neighbourhood of a match, in one line; its offset counts code units, too."""
        utf16, original = self.document.utf16, self.document.original
        start, end = max(0, span.start - _CONTEXT), span.end + _CONTEXT
        before, after = "..." if start else "", "..." if end < len(original) else ""
        text = before + original[start:end].replace("\n", " ") + after
        offset, match_end = self._utf16(span)
        return {"text": text, "offset": len(before) + offset - utf16(start), "length": match_end - offset}

    def _utf16(self, span: Span) -> Span:
        return Span(self.document.utf16(span.start), self.document.utf16(span.end))


def _append(items: bytearray, item: object) -> None:
    items += f"{', ' if items else ''}{to_json(item)}".encode()


def _incomplete(reason: str) -> dict[str, Any]:
    return {"incompleteResults": True, "incompleteResultsReason": reason}
