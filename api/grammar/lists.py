"""Holds the lists of words by which the rules on the words around an edit tell nouns from verbs: lists.tsv.

Those whose name does not say it:

- activities: their -ing before a plural is what somebody does ("Reading books is fun"), but with kinds it is a kind of
  them ("Reading glasses are"); amounts: plurals that are one amount ("Ten years is long").
- groups: of people, who are many to the British ("The jury have left").
- of_lines: what lines of documents begin with ("Shows matches"); behind such a word of_events are verbs.
- first_parts: verbs that are first parts of compounds ("commit messages"); bare_nouns: nouns behind a preposition ("by
  force"); governors, able: what asks for an infinitive with 'to'.
"""

from __future__ import annotations

from pathlib import Path

_ROWS = Path(__file__).with_name("lists.tsv").read_text(encoding="utf-8").splitlines()
LISTS = {name: frozenset(words.split()) for name, words in (row.split("\t") for row in _ROWS)}
