"""Holds the lists of words by which the rules on the words around an edit tell nouns from verbs: lists.tsv."""

from __future__ import annotations

from pathlib import Path

_ROWS = Path(__file__).with_name("lists.tsv").read_text(encoding="utf-8").splitlines()
LISTS = {name: frozenset(words.split()) for name, words in (row.split("\t") for row in _ROWS)}
