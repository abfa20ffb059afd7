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
    category: str

    @property
    def description(self) -> str:
        return self.id.replace("_", " ").capitalize()

    def document(self) -> dict[str, object]:
        return {
            "id": self.id, "description": self.description, "issueType": _ISSUE_TYPES[self.category],
            "category": {"id": self.category, "name": CATEGORIES[self.category]},
        }  # fmt: skip


OF_REASON = {reason: Rule(reason.value, "TYPOS" if reason in _SPELLING else "GRAMMAR") for reason in Reason}
TOO_LONG = Rule("sentence_too_long", "STYLE")


@dataclass(frozen=True, slots=True)
class RuleChoice:
    """Which rules a client wants. What it enables by name counts more than what it disables."""

    enabled: frozenset[str]
    disabled: frozenset[str]
    enabled_categories: frozenset[str]
    disabled_categories: frozenset[str]
    is_closed: bool  # nothing but what is enabled by name

    def has(self, rule: Rule) -> bool:
        if rule.id in self.enabled:
            return True
        if rule.id in self.disabled:
            return False
        if rule.category in self.enabled_categories:
            return True
        return not self.is_closed and rule.category not in self.disabled_categories
