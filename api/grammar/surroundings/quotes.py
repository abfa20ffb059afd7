"""Finds words that are quoted for their form: "He don't know" is not standard.

What somebody says is corrected as all text is; a title, an example or what to search for stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from api.grammar.lists import LISTS
from api.grammar.proposals import Proposal

# By the mark that opens a quotation: which mark closes it; a single one may open again instead.
# It begins with a plain set of characters, so that the search is fast.
_OPENING = re.compile(r"[\"\u201c\u2018'](?:(?<!')|(?<![\w']')(?=[^\s']))")
_CLOSING = {
    '"': re.compile('"'),
    "\u201c": re.compile("\u201d"),
    "\u2018": re.compile(r"\u2018|\u2019(?!\w)"),
    "'": re.compile(r"'(?!\w)"),
}
_SPEECH = LISTS["speech"]
_WORD = re.compile(r"[^\W\d_]+")
_NEAR = 60  # characters around a quotation that are read


def is_quoted_for_its_form(sentence: str, edit: Proposal) -> bool:
    """Return whether the edit stands in a quotation that is no speech: 'The title is "We [were] kings".'."""
    if _OPENING.search(sentence, 0, edit.start + 1) is None:
        return False
    for start, end in _quotations(sentence):
        if start < edit.start and edit.end < end:
            return not _is_speech(sentence, start, end)
    return False


def _quotations(sentence: str) -> Iterator[tuple[int, int]]:
    """Yield the places of quotations with their marks.

    A mark that is not closed once is never closed later, so that the sentence is looked through a few times at most.
    """
    at, unclosed = 0, set()
    while opening := _OPENING.search(sentence, at):
        start, mark = opening.start(), opening[0]
        at = opening.end()
        closing = None if mark in unclosed else _CLOSING[mark].search(sentence, at)
        if closing is None:
            unclosed.add(mark)
        elif closing[0] != "\u2018":
            at = closing.end()
            yield start, at


def _is_speech(sentence: str, start: int, end: int) -> bool:
    """Return whether somebody says it: a comma, a dash with a name or a verb of saying is near, or it is alone."""
    before = sentence[max(0, start - _NEAR) : start].rstrip()
    after = sentence[end : end + _NEAR]
    text = sentence[start + 1 : end - 1].rstrip()
    is_ended, is_part = text.endswith((",", ".", "!", "?", "\u2026")), after.lstrip()[:1].islower()
    if before.endswith((",", ":")) and (is_ended or not is_part):  # 'In the poem, "we was free" comes twice.'
        return True
    if is_ended and (not before or before.endswith((".", "!", "?"))):
        return True
    if after.lstrip()[:1] in ("\u2014", "\u2013") or not (_WORD.search(before) or _WORD.search(after)):
        return True
    words = [*_WORD.findall(before.removesuffix(" that"))[-1:], *_WORD.findall(after)[:4]]
    return not _SPEECH.isdisjoint(map(str.lower, words))
