"""Says how usual words are behind each other, by how often they stood so in right text.

Stupid backoff (Brants et al., 2007, "Large Language Models in Machine Translation"): a word scores the share that its
n-gram has among all that begin alike. Where the text has no such n-gram, it scores BACKOFF times what the n-gram
without the first word gives.

`ngrams.bin` holds the hashes of n-grams in order (CRC-32, 4 bytes each), then a byte each for the logarithm of the
count. It is mapped, not read, so that the processes of a machine share it.
"""

from __future__ import annotations

import mmap
import struct
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path
from zlib import crc32

SHIPPED = Path(__file__).with_name("ngrams.bin")
ORDER = 3
BACKOFF = 0.4
BYTES = 4, 1  # of a hash and of a count
STEPS_PER_NAT = 12  # of the byte; the first step stands for a count of 1
START, END = "<s>", "</s>"  # of a sentence
_NUMBER = "0"
_LOG_BACKOFF = log(BACKOFF)
_UNSEEN = 0.5  # what a word counts that the text has not


class NGrams:
    """Looks up counts of up to three words or marks in small letters; all numbers are one word."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        view = memoryview(data)
        num_hash_bytes = len(view) // sum(BYTES) * BYTES[0]
        self._hashes = view[:num_hash_bytes].cast("I")
        self._steps = view[num_hash_bytes:]
        self._log_unseen = log(_UNSEEN) - (self.log_count(()) or 0.0)

    @classmethod
    def load(cls, path: Path = SHIPPED) -> NGrams:
        """Map the file that ships with the package."""
        with path.open("rb") as file:
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
        wanted = hash_of(words)
        at = bisect_left(self._hashes, wanted)
        if at == len(self._hashes) or self._hashes[at] != wanted:
            return None
        return (self._steps[at] - 1) / STEPS_PER_NAT


def normal(word: str) -> str:
    """Return the word as it is counted."""
    return _NUMBER if word[0].isdigit() else word


def hash_of(words: Sequence[str]) -> int:
    """Return the number under which the n-gram is kept."""
    return crc32(" ".join(words).encode())


def packed(counts: Mapping[tuple[str, ...], int]) -> bytes:
    """Return the file for these counts; with an n-gram it needs those it begins with, down to (), that of all words.

    Of two n-grams with one hash the more frequent is kept.
    """
    steps: dict[int, int] = {}
    for words, count in counts.items():
        key = hash_of(words)
        steps[key] = max(steps.get(key, 0), 1 + round(log(count) * STEPS_PER_NAT))
    keys = sorted(steps)
    return struct.pack(f"={len(keys)}I", *keys) + bytes([steps[key] for key in keys])
