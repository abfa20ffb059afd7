"""Says how usual words are behind each other, by how often they stood so in right text.

Stupid backoff (Brants et al., 2007, "Large Language Models in Machine Translation"): a word scores the share that its
n-gram has among all that begin alike. Where the text has no such n-gram, it scores BACKOFF times what the n-gram
without the first word gives.

`ngrams.bin` holds the number of n-grams, their hashes in order (CRC-32, 4 bytes each), then a byte each for the
logarithm of the count. It is mapped, not read, so that the processes of a machine share it.
"""

from __future__ import annotations

import mmap
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from pathlib import Path
from zlib import crc32

from api.grammar import word_sets
from api.grammar.verb_words import parts_of

SHIPPED = Path(__file__).with_name("ngrams.bin")
ORDER = 3
BACKOFF = 0.4
_NUMBER_BYTES, _HASH_BYTES = 4, 4
_STEPS_PER_NAT = 12  # of the byte; the first step stands for a count of 1
START, END = "<s>", "</s>"  # of a sentence
_NUMBER = "0"
NAME, NAME_IN_S = "Name", "Names"  # the latter may be one of many: the Beatles, James
_LOG_BACKOFF = log(BACKOFF)
_DAMAGED = "the counts of n-grams, api/grammar/ngrams.bin, are damaged: install the package again"
_UNSEEN = 0.5  # what a word counts that the text has not


class NGrams:
    """Looks up counts of up to three words or marks. Raises ValueError where the data is not what `packed` made."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        view = memoryview(data)
        num = int.from_bytes(view[:_NUMBER_BYTES], "little")
        first_step = _NUMBER_BYTES + num * _HASH_BYTES
        if not num or len(view) != first_step + num:
            raise ValueError(_DAMAGED)
        self._hashes = view[_NUMBER_BYTES:first_step].cast("I")
        self._steps = view[first_step:]
        self._log_unseen = log(_UNSEEN) - (self.log_count(()) or 0.0)

    @classmethod
    def load(cls, path: Path = SHIPPED) -> NGrams:
        """Map the file that ships with the package. Raises ValueError where it is damaged."""
        with path.open("rb") as file:
            if not path.stat().st_size:
                raise ValueError(_DAMAGED)
            return cls(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def log_score(self, words: Sequence[str], start: int) -> float:
        """Return the sum of the logarithms of the scores of words[start:], each behind the two before it."""
        return sum(self._log_score(words[at + 1 - ORDER : at + 1]) for at in range(start, len(words)))

    def _log_score(self, words: Sequence[str]) -> float:
        backoff = 0.0
        for start in range(len(words)):
            if (count := self.log_count(words[start:])) is not None:
                all_alike = self.log_count(words[start:-1]) or 0.0  # of () it is that of all words
                return backoff + min(0.0, count - all_alike)
            backoff += _LOG_BACKOFF
        return backoff - _LOG_BACKOFF + self._log_unseen

    def log_count(self, words: Sequence[str]) -> float | None:
        """Return the natural logarithm of how often the words stood so, None where it is not known that they did."""
        wanted = _hash_of(words)
        at = bisect_left(self._hashes, wanted)
        if at == len(self._hashes) or self._hashes[at] != wanted:
            return None
        return (self._steps[at] - 1) / _STEPS_PER_NAT


def counted(tokens: Iterable[str], *, is_start: bool, is_known: Callable[[str], bool]) -> list[str]:
    """Return words and marks, as written, as they are counted: small, "isn't" as two, all numbers and names as one.

    `is_start` says that a sentence begins with them. There, and behind a mark, a word that `is_known` in small letters
    is no name.
    """
    found: list[str] = []
    may_be_any = is_start
    for token in tokens:
        first, *rest = parts_of(token)
        if first[:1].isdigit():
            first = _NUMBER
        elif token[0].isupper() and first not in word_sets.CLOSED_CLASS and not (may_be_any and is_known(first)):
            first = NAME_IN_S if first.endswith("s") else NAME
        may_be_any = not token[0].isalnum()
        found += (first, *rest)
    return found


def _hash_of(words: Sequence[str]) -> int:
    """Return the number under which the n-gram is kept."""
    return crc32(" ".join(words).encode())


def packed(counts: Mapping[tuple[str, ...], int]) -> bytes:
    """Return the file for these counts; with an n-gram it needs those it begins with, down to (), that of all words.

    Of two n-grams with one hash the more frequent is kept.
    """
    steps: dict[int, int] = {}
    for words, count in counts.items():
        key = _hash_of(words)
        steps[key] = max(steps.get(key, 0), 1 + round(log(count) * _STEPS_PER_NAT))
    keys = sorted(steps)
    return struct.pack(f"<{len(keys) + 1}I", len(keys), *keys) + bytes([steps[key] for key in keys])
