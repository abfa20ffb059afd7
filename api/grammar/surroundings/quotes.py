"""Finds words that are quoted for their form: "He don't know" is not standard.

What somebody says is corrected as all text is; a title, an example or what to search for stays as it is.
"""

from __future__ import annotations

import re

from api.grammar.proposals import Proposal

_QUOTED = re.compile(
    r"\"(?P<straight>[^\"]*)\"|\u201c(?P<curly>[^\u201d]*)\u201d|\u2018(?P<single>[^\u2018]*?)\u2019(?!\w)"
    r"|(?<![\w'])'(?P<typed>[^\s'](?:[^']|'(?=\w))*)'(?!\w)"
)
_MARKS = frozenset("\"'\u2018\u201c")
_SPEECH = frozenset(
    "said asked told replied answered shouted cried whispered exclaimed added explained yelled thought screamed "
    "remarked begged called-out claimed announced warned insisted continued".split()
)
_WORD = re.compile(r"[^\W\d_]+")
_NEAR = 60  # characters around a quotation that are read


def is_quoted_for_its_form(sentence: str, edit: Proposal) -> bool:
    """Return whether the edit stands in a quotation that is no speech: 'The title is "We [were] kings".'."""
    if _MARKS.isdisjoint(sentence):
        return False
    for match in _QUOTED.finditer(sentence):
        if match.start() < edit.start and edit.end < match.end():
            return not _is_speech(sentence, match)
    return False


def _is_speech(sentence: str, quoted: re.Match[str]) -> bool:
    """Return whether somebody says it: a comma, a dash with a name or a verb of saying is near, or it is alone."""
    before = sentence[max(0, quoted.start() - _NEAR) : quoted.start()].rstrip()
    after = sentence[quoted.end() : quoted.end() + _NEAR]
    text = quoted[quoted.lastgroup or 0].rstrip()
    is_ended, is_part = text.endswith((",", ".", "!", "?", "\u2026")), after.lstrip()[:1].islower()
    if before.endswith((",", ":")) and (is_ended or not is_part):  # 'In the poem, "we was free" comes twice.'
        return True
    if is_ended and (not before or before.endswith((".", "!", "?"))):
        return True
    if after.lstrip()[:1] in ("\u2014", "\u2013") or not (_WORD.search(before) or _WORD.search(after)):
        return True
    words = [*_WORD.findall(before)[-1:], *_WORD.findall(after)[:4]]
    return not _SPEECH.isdisjoint(map(str.lower, words))
