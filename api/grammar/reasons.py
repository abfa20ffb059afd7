"""Lists the reasons for an edit: the tag tokens of the model and the slugs that users see.

Tags get their token ids in this order, so a new reason goes at the end. A test compares the table of
docs/reference.md with this enum.
"""

from __future__ import annotations

import re
from enum import Enum

_WORD = re.compile(r"\b(will|be|do|have|to)\b")


class Reason(Enum):
    """Names a reason: the member is the tag token of the model (`<PAST_IRREG>`), its value the slug in the answer."""

    PAST_IRREG = "irregular_past"
    PART_IRREG = "irregular_participle"
    PAST_NOT_PART = "past_not_participle"
    REG_SPELL = "regular_past_spelling"
    ING_SPELL = "ing_spelling"
    S_SPELL = "third_person_spelling"
    SVA_SG = "singular_agreement"
    SVA_PL = "plural_agreement"
    SVA_BE = "be_agreement"
    BASE_DO = "base_after_do"
    BASE_MODAL = "base_after_modal"
    BASE_TO = "base_after_to"
    PERF_PART = "perfect_participle"
    PASSIVE_PART = "passive_participle"
    BE_ING = "ing_after_be"
    MISSING_BE = "missing_be"
    EXTRA_BE = "extra_be"
    TENSE_PAST = "past_tense"
    TENSE_FUT = "future_tense"
    TENSE_PERF = "perfect_tense"
    PAST_NOT_PERF = "past_not_perfect"
    TENSE_SEQ = "tense_sequence"
    TO_INF = "to_infinitive"
    BARE_INF = "bare_infinitive"
    ING_PREP = "ing_after_preposition"
    ING_VERB = "ing_after_verb"
    NO_WILL = "no_will_in_clause"
    MODAL_OF = "modal_have"
    STATIVE = "state_verb"
    ING_TO = "ing_after_to"
    WISH_PAST = "unreal_past"
    HABIT = "habit"
    PAST_PERF = "past_perfect"
    DO_SUPPORT = "do_support"
    QUESTION_ORDER = "question_order"

    __hash__ = object.__hash__  # Enum's own is written in Python, and reasons are looked up on every edit

    def __init__(self, slug: str) -> None:
        words = _WORD.sub(r"‘\1’", slug.replace("_", " "))
        # The reason in words, for people.
        self.title = f"-{words}" if words.startswith("ing ") else words[0].upper() + words[1:]

    @property
    def token(self) -> str:
        """Return the tag as it stands in the tokenizer's vocabulary."""
        return f"<{self.name}>"
