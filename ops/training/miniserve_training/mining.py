"""Finds right sentences that the model changes, for the training to learn that they are right.

Some hold a mistake of their own, and what corrects it is mostly the surest: those that are too sure for their reason
and source leave the training text. What is held out is never mined.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from miniserve_training.text.corpus import TaggedSentence, read_corpus
from ops.evaluation.product import ProductCorrector
from scheduler.settings import Settings

_STRICTNESS = 0.0  # what is nearly changed teaches as much as what is
_CARELESS = ("ewt-answers", "ewt-reviews", "ewt-email")  # text that nobody has read twice
# Forms that are wrong in nearly every sentence: a change that is sure is right.
_FORMS = frozenset(
    "base_after_modal base_after_do regular_past_spelling third_person_spelling ing_spelling perfect_participle "
    "passive_participle irregular_past irregular_participle perfect_tense modal_have".split()
)
_AGREEMENT = frozenset(("singular_agreement", "plural_agreement", "be_agreement"))
_MOST_CONFIDENCE = 1.0
_MOST_OF_FORMS, _MOST_OF_AGREEMENT, _MOST_OF_CARELESS = 0.93, 0.99, 0.98


class Mined(NamedTuple):
    """A sentence that comes back changed."""

    source: str
    sentence: str
    corrected: str
    reasons: str  # their slugs, with blanks between
    confidence: float  # of the first edit


def mine_prose(corpora: Iterable[Path]) -> Iterator[Mined]:
    """By the weights that ship, of natural text alone: short text takes five times as long and gives little."""
    corrector = ProductCorrector(replace(Settings.from_env(os.environ), strictness=_STRICTNESS))
    return mine([one for one in read_corpus(corpora) if one.is_prose and one.source != "masc"], corrector)


def mine(sentences: Sequence[TaggedSentence], corrector: ProductCorrector) -> Iterator[Mined]:
    """Those of the sentences that the model changes and that no evaluation is made of."""
    fitting = [sentence for sentence in sentences if not sentence.is_held_out]
    answers = corrector([sentence.text for sentence in fitting])
    for sentence, answer in zip(fitting, answers, strict=True):
        if answer.edits:
            reasons = " ".join(edit.reason.value for edit in answer.edits)
            yield Mined(sentence.source, sentence.text, answer.corrected, reasons, answer.edits[0].confidence)


def is_probably_right(mined: Mined) -> bool:
    """Whether the sentence, not the change, is more likely to be right. Judged on 300 by eye: docs/model-log.md."""
    reasons, most = frozenset(mined.reasons.split(" ")), _MOST_CONFIDENCE
    if reasons & _FORMS:
        most = _MOST_OF_FORMS
    elif reasons & _AGREEMENT:
        most = _MOST_OF_AGREEMENT
    if mined.source in _CARELESS:
        most = min(most, _MOST_OF_CARELESS)
    return mined.confidence <= most


def read_mined(path: Path) -> Iterator[Mined]:
    """Read what `write_mined` wrote."""
    with path.open(encoding="utf-8", newline="") as file:
        for *texts, confidence in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield Mined(*texts, confidence=float(confidence))


def write_mined(found: Iterable[Mined], path: Path) -> None:
    """Write them; the file is there once it is whole."""
    partial = path.with_suffix(".partial")
    with partial.open("w", encoding="utf-8") as file:
        file.writelines("\t".join((*mined[:-1], f"{mined.confidence:g}")) + "\n" for mined in found)
    partial.replace(path)
