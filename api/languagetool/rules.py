"""The rules that clients see: one for each reason, and one for a sentence that is too long to be read."""

from __future__ import annotations

from dataclasses import dataclass

from api.grammar.reasons import Reason

CATEGORIES = {"GRAMMAR": "Grammar", "TYPOS": "Possible Typo", "STYLE": "Style"}
_ISSUE_TYPES = {"GRAMMAR": "grammar", "TYPOS": "misspelling", "STYLE": "style"}  # after the W3C's ITS 2.0
_SPELLING = (Reason.REG_SPELL, Reason.ING_SPELL, Reason.S_SPELL)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a match belongs to. Clients turn rules off by their id, and group them by their category."""

    id: str
    description: str
    category: str

    def document(self) -> dict[str, object]:
        return {
            "id": self.id, "description": self.description, "issueType": _ISSUE_TYPES[self.category],
            "category": {"id": self.category, "name": CATEGORIES[self.category]},
        }  # fmt: skip


OF_REASON = {one: Rule(one.value, one.title, "TYPOS" if one in _SPELLING else "GRAMMAR") for one in Reason}
TOO_LONG = Rule("sentence_too_long", "Sentence too long", "STYLE")
RULES = *OF_REASON.values(), TOO_LONG
