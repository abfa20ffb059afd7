"""Holds words in -s that are known: frequent plurals, and names of one person or place."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from api.grammar.lists import LISTS

NAMES_IN_S = LISTS["names_in_s"]
# No name of a thing or a program has such an ending: "Teachers", "Rituals", "Crutches".
_ENDINGS = (
    "ers", "ors", "ies", "ings", "ments", "ions", "ants", "ents", "als", "ists", "ches", "shes", "ians", "ures", "ages",
)  # fmt: skip


def is_known_plural(word: str) -> bool:
    """Return whether a word in small letters is surely a plural, and no name in -s."""
    return word.endswith(_ENDINGS) or word in _plurals()


@cache
def _plurals() -> frozenset[str]:
    """Return the plurals that the training text holds seven times or more, but those with such an ending."""
    return frozenset(Path(__file__).with_name("plurals.tsv").read_text(encoding="utf-8").split())
