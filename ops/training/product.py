"""The product as a corrector under test: tokenizer, NumPy engine and guard, joined as `miniserve correct` does."""

from __future__ import annotations

from collections.abc import Sequence

from api.agent import Correction
from ops.offline import OfflineCorrector
from ops.training.evaluation import Answer, CorrectBatch
from scheduler.settings import Settings

_LINES_PER_TAKE = 128


class _SentenceLines:
    """Sentences as the lines the offline corrector reads; a few at a time keep its engine full, not flooded."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self._left = list(reversed(sentences))

    @property
    def is_over(self) -> bool:
        return not self._left

    def take(self, wait: bool) -> list[bytes]:
        return [self._left.pop().encode() for _ in range(min(_LINES_PER_TAKE, len(self._left)))]


def product_corrector(settings: Settings) -> CorrectBatch:
    """Raises WeightsError if the shipped weights and tokenizer do not fit."""
    corrector = OfflineCorrector.load(settings)

    def correct_batch(sentences: Sequence[str]) -> list[Answer]:
        outcomes = corrector.correct(_SentenceLines(sentences))
        return [
            Answer(outcome.corrected, tuple(edit.reason for edit in outcome.edits))
            if isinstance(outcome, Correction)
            else Answer(sentence, is_refused=True)
            for sentence, outcome in zip(sentences, outcomes, strict=True)
        ]

    return correct_batch
