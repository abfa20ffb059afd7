"""Draws corruptions so that rare reasons and rare verbs are seen: reason first, then verb, then sentence."""

from __future__ import annotations

import random
from array import array
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from api.grammar.reasons import Reason
from miniserve_training.text.corpus import TaggedSentence
from miniserve_training.text.view import Candidate

# A draw's weight is count^(1 - x): x = .65 for reasons and .35 for verbs.
_REASON_POWER = 0.35
_VERB_POWER = 0.65
# The rule behind "goed" and "taked" is learnt from many verbs, not from many sentences of a few.
_IRREGULAR_VERB_POWER = 0.3
_IRREGULAR = frozenset((Reason.PAST_IRREG, Reason.PART_IRREG))
_LEAST_SHARE = 0.018
_EDIT_COUNT_SHARES = ((0.66, 1), (0.89, 2), (1.0, 3))
_ADJACENT_SHARE = 0.33  # draws of several edits that may touch each other
_AGREEMENT = frozenset((Reason.SVA_SG, Reason.SVA_PL, Reason.SVA_BE))


class _Weighted:
    """A choice among named lists of sentence numbers."""

    def __init__(self, lists: dict[str, array[int]], power: float = _VERB_POWER) -> None:
        self.names = list(lists)
        self.lists = list(lists.values())
        self.cumulative = list(accumulate(len(one) ** power for one in self.lists))

    def draw(self, rng: random.Random) -> tuple[str, int]:
        at = bisect(self.cumulative, rng.random() * self.cumulative[-1])
        return self.names[at], rng.choice(self.lists[at])


class _Kind(NamedTuple):
    """What is drawn first. Agreement with a subject made to be hard ("the box of books") counts as a reason of its own:
    among the pronouns of the text it would hardly be seen."""

    reason: Reason
    is_made: bool


class CandidateIndex:
    """Which sentences allow which reason with which verb."""

    def __init__(self, corruptible: Iterable[tuple[TaggedSentence, tuple[Candidate, ...]]]) -> None:
        self.breakable: list[tuple[TaggedSentence, tuple[Candidate, ...]]] = []  # those that allow any
        numbers: dict[_Kind, dict[str, array[int]]] = defaultdict(lambda: defaultdict(lambda: array("I")))
        for sentence, candidates in corruptible:
            if not candidates:
                continue
            for reason, lemma in dict.fromkeys((one.reason, one.lemma) for one in candidates):
                kind = _Kind(reason, bool(sentence.agreeing) and reason in _AGREEMENT)
                numbers[kind][lemma].append(len(self.breakable))
            self.breakable.append((sentence, candidates))
        kinds = [kind for reason in Reason for made in (False, True) if (kind := _Kind(reason, made)) in numbers]
        sizes = [sum(map(len, numbers[kind].values())) for kind in kinds]
        self.counts: Counter[Reason] = Counter()
        for kind, size in zip(kinds, sizes, strict=True):
            self.counts[kind.reason] += size
        self._verbs = {
            kind: _Weighted(dict(numbers[kind]), _IRREGULAR_VERB_POWER if kind.reason in _IRREGULAR else _VERB_POWER)
            for kind in kinds
        }
        self._kinds = kinds
        self._cumulative = list(accumulate(_shares(sizes)))

    @property
    def is_useful(self) -> bool:
        return bool(self._kinds)

    def draw(self, rng: random.Random) -> tuple[TaggedSentence, tuple[Candidate, ...], Candidate | None]:
        """A sentence, all it allows, and the corruption to make first."""
        if not self._kinds:
            raise ValueError("none of the sentences has a verb that can be corrupted; read more text")
        kind = self._kinds[bisect(self._cumulative, rng.random() * self._cumulative[-1])]
        lemma, number = self._verbs[kind].draw(rng)
        sentence, candidates = self.breakable[number]
        fitting = [one for one in candidates if one.reason is kind.reason and one.lemma == lemma]
        return sentence, candidates, rng.choice(fitting)


class Pool:
    """Sentences met for their own sake: right as they stand, or broken, so that silence is not learnt by heart."""

    def __init__(self, sentences: Sequence[TaggedSentence], index: CandidateIndex) -> None:
        texts = {sentence.text for sentence in sentences}
        self._sentences = sentences
        self._broken = [(sentence, found) for sentence, found in index.breakable if sentence.text in texts]

    def __bool__(self) -> bool:
        return bool(self._broken)

    def draw(self, rng: random.Random, *, is_clean: bool) -> tuple[TaggedSentence, Sequence[Candidate]]:
        """A reason that a sentence allows more often than others is not drawn more often."""
        if is_clean:
            return rng.choice(self._sentences), ()
        sentence, candidates = rng.choice(self._broken)
        reason = rng.choice(list(dict.fromkeys(one.reason for one in candidates)))
        first = rng.choice([one for one in candidates if one.reason is reason])
        return sentence, choose(candidates, first, wanted_edits(rng), rng)


def wanted_edits(rng: random.Random) -> int:
    """How many edits a sentence is to need."""
    roll = rng.random()
    return next(count for share, count in _EDIT_COUNT_SHARES if roll < share)


def choose(candidates: Sequence[Candidate], first: Candidate, wanted: int, rng: random.Random) -> list[Candidate]:
    """`first` and perhaps one or two more: most often a word apart, sometimes side by side ("don't knows")."""
    chosen = [first]
    gap = 0 if rng.random() < _ADJACENT_SHARE else 1
    while len(chosen) < wanted:
        fitting = [other for other in candidates if all(_stand_apart(other, one, gap) for one in chosen)]
        if not fitting:
            break
        chosen.append(rng.choice(fitting))
    return sorted(chosen, key=lambda candidate: candidate.first)


def _stand_apart(one: Candidate, other: Candidate, gap: int) -> bool:
    return one.first >= other.first + other.num_right + gap or other.first >= one.first + one.num_right + gap


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
