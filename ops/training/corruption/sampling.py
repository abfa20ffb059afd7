"""Draws corruptions so that rare reasons and rare verbs are seen: reason first, then verb, then sentence."""

from __future__ import annotations

import random
from array import array
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate

from api.reasons import Reason
from ops.training.corpus import TaggedSentence
from ops.training.corruption.view import Candidate

# A draw's weight is count^(1 - x): x = .65 for reasons and .35 for verbs.
_REASON_POWER = 0.35
_VERB_POWER = 0.65
_LEAST_SHARE = 0.015


class _Weighted:
    """A choice among named lists of sentence numbers."""

    def __init__(self, lists: dict[str, array[int]]) -> None:
        self.names = list(lists)
        self.lists = list(lists.values())
        self.cumulative = list(accumulate(len(one) ** _VERB_POWER for one in self.lists))

    def draw(self, rng: random.Random) -> tuple[str, int]:
        at = bisect(self.cumulative, rng.random() * self.cumulative[-1])
        return self.names[at], rng.choice(self.lists[at])


class CandidateIndex:
    """Which sentences allow which reason with which verb."""

    def __init__(self, corruptible: Iterable[tuple[TaggedSentence, tuple[Candidate, ...]]]) -> None:
        self._sentences: list[tuple[TaggedSentence, tuple[Candidate, ...]]] = []
        numbers: dict[Reason, dict[str, array[int]]] = defaultdict(lambda: defaultdict(lambda: array("I")))
        for sentence, candidates in corruptible:
            if not candidates:
                continue
            for reason, lemma in dict.fromkeys((one.reason, one.lemma) for one in candidates):
                numbers[reason][lemma].append(len(self._sentences))
            self._sentences.append((sentence, candidates))
        self.counts = {reason: sum(map(len, numbers[reason].values())) for reason in Reason if reason in numbers}
        self._verbs = {reason: _Weighted(dict(numbers[reason])) for reason in self.counts}
        self._reasons = list(self.counts)
        self._cumulative = list(accumulate(_shares(list(self.counts.values()))))

    @property
    def is_useful(self) -> bool:
        return bool(self._reasons)

    def draw(self, rng: random.Random) -> tuple[TaggedSentence, tuple[Candidate, ...], Candidate | None]:
        """A sentence, all it allows, and the corruption to make first."""
        if not self._reasons:
            raise ValueError("none of the sentences has a verb that can be corrupted; read more text")
        reason = self._reasons[bisect(self._cumulative, rng.random() * self._cumulative[-1])]
        lemma, number = self._verbs[reason].draw(rng)
        sentence, candidates = self._sentences[number]
        fitting = [one for one in candidates if one.reason is reason and one.lemma == lemma]
        return sentence, candidates, rng.choice(fitting)


def _shares(counts: list[int]) -> list[float]:
    """Of each reason; none below the least share, which the others pay for in proportion."""
    weights = [count**_REASON_POWER for count in counts]
    least = min(_LEAST_SHARE, 1 / max(1, len(counts)))
    is_lifted = [False] * len(weights)
    while True:
        left = 1 - least * sum(is_lifted)
        total = sum(weight for weight, lifted in zip(weights, is_lifted, strict=True) if not lifted)
        shares = [least if lifted else left * weight / total for weight, lifted in zip(weights, is_lifted, strict=True)]
        below = [share < least for share in shares]
        if not any(below):
            return shares
        is_lifted = [lifted or low for lifted, low in zip(is_lifted, below, strict=True)]
