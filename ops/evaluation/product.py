"""The product as a corrector under test: tokenizer, NumPy engine and guard, joined as `miniserve correct` does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from api.grammar.correction import Correction
from api.grammar.pipeline import Level
from ops.evaluation.scores import Answer
from ops.run.offline import OfflineCorrector
from scheduler.settings import Settings
from worker.model.weights import Weights

_SENTENCES_AT_ONCE = 1024  # keep the engine full, and show how far it is


class ProductCorrector:
    """Corrects as the service does, a text of several sentences included. Raises WeightsError if the shipped weights
    and tokenizer do not fit."""

    def __init__(self, settings: Settings, weights: Weights | None = None, level: Level = "quiet") -> None:
        self._corrector = OfflineCorrector.load(settings, weights, level)

    def __call__(self, sentences: Sequence[str]) -> Iterator[Answer]:
        """One answer for each, in order, as they come."""
        for start in range(0, len(sentences), _SENTENCES_AT_ONCE):
            some = sentences[start : start + _SENTENCES_AT_ONCE]
            for sentence, outcome in zip(some, self._corrector.correct(some), strict=True):
                if isinstance(outcome, Correction):
                    yield Answer(outcome.corrected, outcome.edits, num_malformed=outcome.num_malformed)
                else:
                    yield Answer(sentence, is_refused=True)
