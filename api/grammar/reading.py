"""Reads a text without what nobody sees, and with one kind of apostrophe and hyphen; places lead back to what was sent.

Pages and PDF files are full of soft hyphens, zero-width blanks and marks of direction. To a pattern each of them is a
letter or the end of a word, so that half of a word would be read as a word, and replaced. All of the grammar therefore
works on the reading, and only what goes into an answer is put back.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from api.grammar.sentences import go_on

# Default_Ignorable_Code_Point of Unicode (DerivedCoreProperties.txt), and the annotation marks U+FFF9 to U+FFFB.
_UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_OF_A_WORD = "\u00ad\u200b\u200c\u200d\u2060\ufeff"  # where it may break or not: an edit takes it away with its word
# Hyphens, line breaks that no pattern looks for, and marks that are letters to Unicode.
_OTHERS = dict.fromkeys((0x2010, 0x2011), "-") | dict.fromkeys((0x2028, 0x2029), "\n")
_OTHERS |= dict.fromkeys((0x02B9, 0x02BC, 0x02C8), "'")
_APOSTROPHES = "`\u00b4\u02b9\u02bc\u02c8\u2018\u201b\u2032\uff07"  # as keyboards and fonts have them for U+0027
_PAUSE_AFTER = 4_096  # places where something is left out, some 1 ms
_UNUSUAL = re.compile(f"[{_UNSEEN}{_APOSTROPHES}{''.join(map(chr, _OTHERS))}]")
_GONE = re.compile(f"[{_UNSEEN}]+")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_LETTER = rf"[^\W\d_{_APOSTROPHES}]"
_APOSTROPHE = re.compile(rf"(?<={_LETTER})[{_APOSTROPHES}](?={_LETTER})")

Offsets = Literal["codepoints", "utf16"]


@dataclass(slots=True)
class Reading:
    """Holds a text as sent and as it is read."""

    sent: str
    text: str
    starts: Sequence[int] = ()  # places in `text` in front of which something is left out, in order
    gone: Sequence[int] = ()  # how much, up to there
    to_unit: Callable[[int], int] | None = None  # turns a place in `sent` into one of the answer; None: it is one

    def place(self, at: int) -> int:
        """Return where the code point at a place of `text` stands in the text as sent."""
        number = bisect_right(self.starts, at)
        return at + (self.gone[number - 1] if number else 0)

    def end(self, at: int) -> int:
        """Return where what ends at a place of `text` ends in the text as sent."""
        number = bisect_left(self.starts, at)
        return at + (self.gone[number - 1] if number else 0)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the place of words: with the marks of their own at their ends, and without any others."""
        first, last = self.place(start), self.end(end)
        if not self.starts:
            return first, last
        while first > 1 and self.sent[first - 1] in _OF_A_WORD:  # a byte order mark stays
            first -= 1
        while self.sent[last : last + 1] and self.sent[last] in _OF_A_WORD:
            last += 1
        return first, last

    def apostrophe(self, start: int, end: int) -> str:
        """Return the one that the writer has in [start, end) of the text as sent, if it is an unusual one."""
        found = _APOSTROPHE.search(_GONE.sub("", self.sent[start:end])) if self.sent != self.text else None
        return found[0] if found else "'"


def utf16_offsets(text: str) -> Callable[[int], int]:
    """Return what turns a place of the text, in code points, into UTF-16 code units, as JavaScript and Java count."""
    astral = [match.start() for match in _ASTRAL.finditer(text)]  # each takes two units
    return lambda place: place + bisect_left(astral, place)


def read(sent: str, pause: Callable[[], None] = go_on, offsets: Offsets = "codepoints") -> Reading:
    """Return the reading of a text: the text itself where nothing in it is unusual. Long ones call `pause`.

    `offsets`: what places in the answer count.
    """
    to_unit = utf16_offsets(sent) if offsets == "utf16" else None
    if (sent.isascii() and "`" not in sent) or _UNUSUAL.search(sent) is None:
        return Reading(sent, sent, to_unit=to_unit)
    starts: list[int] = []
    gone: list[int] = []
    num_gone = 0
    for number, match in enumerate(_GONE.finditer(sent), start=1):
        if number % _PAUSE_AFTER == 0:
            pause()
        starts.append(match.start() - num_gone)
        num_gone += match.end() - match.start()
        gone.append(num_gone)
    text = _GONE.sub("", sent).translate(_OTHERS)
    return Reading(sent, _APOSTROPHE.sub("'", text), starts, gone, to_unit)
