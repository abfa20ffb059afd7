"""Scores corrections: exact match, edits, false positives, reasons.

Edits are found by comparing words and marks of two texts, for the wanted text and ours alike. The figures by reason
rest on what the corrector and the file say:

- *recall* of a reason: of the mistakes the file gives it, how many were mended. Where a sentence has as many changes
  as reasons, each is looked at alone; else all of them count as mended only if the sentence is exact.
- *precision* of a reason: of the edits made for it, how many were right, alone or because all together were.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from api.grammar.correction import Correction, Edit
from api.grammar.reasons import Reason
from api.grammar.words import split_pieces
from ops.evaluation.items import Item

if TYPE_CHECKING:
    from ops.run.offline import OfflineCorrector

_AT_ONCE = 1024  # sentences: keep the engine full, and show how far it is


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Pieces [start, end) of the sentence become these texts."""

    start: int
    end: int
    texts: tuple[str, ...]


def find_edits(sentence: str, corrected: str) -> list[TextEdit]:
    """The changes from one text to the other, in words and marks; white space does not count."""
    old = [piece.text for piece in split_pieces(sentence)]
    new = [piece.text for piece in split_pieces(corrected)]
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    return [
        TextEdit(start, end, tuple(new[new_start:new_end]))
        for kind, start, end, new_start, new_end in matcher.get_opcodes()
        if kind != "equal"
    ]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the corrector under test made of a sentence."""

    corrected: str
    edits: tuple[Edit, ...] = ()
    is_refused: bool = False  # too long, for instance; counted as unchanged
    num_malformed: int = 0  # edits that were none, dropped by the parser


def is_right(item: Item, answer: Answer, edit: Edit) -> bool:
    """Whether an edit of the answer mends a mistake, alone or because all together do."""
    if item.is_clean or answer.corrected == item.corrected:
        return not item.is_clean
    alone = item.sentence[: edit.start] + edit.replacement + item.sentence[edit.end :]
    return set(find_edits(item.sentence, alone)) <= set(find_edits(item.sentence, item.corrected))


_AGREEMENT = (Reason.SVA_SG, Reason.SVA_PL, Reason.SVA_BE)
_INFLECTION = (Reason.PAST_IRREG, Reason.PART_IRREG, Reason.REG_SPELL, Reason.ING_SPELL, Reason.S_SPELL)
_TENSE = (
    Reason.TENSE_PAST, Reason.TENSE_FUT, Reason.TENSE_PERF, Reason.PAST_NOT_PERF, Reason.PAST_PERF, Reason.TENSE_SEQ,
    Reason.WISH_PAST, Reason.NO_WILL, Reason.HABIT, Reason.STATIVE,
)  # fmt: skip
_KINDS = (("agreement", _AGREEMENT), ("inflection", _INFLECTION), ("tense", _TENSE))
_KIND_OF = {reason: kind for kind, reasons in _KINDS for reason in reasons}  # of the others it is "form"


def _share_of(part: str, whole: str) -> property:
    """One count by another; 0 where there is nothing to count."""
    return property(lambda counts: _share(getattr(counts, part), getattr(counts, whole)))


@dataclass(slots=True)
class ReasonScores:
    """Counts for one reason."""

    num_sentences: int = 0  # that hold it, by the file
    num_wanted: int = 0  # mistakes, by the file
    num_mended: int = 0
    num_made: int = 0  # edits, by the corrector
    num_right: int = 0
    num_false: int = 0  # of those made, in clean sentences
    confidence: float = 0.0  # sum over those made

    recall = _share_of("num_mended", "num_wanted")
    precision = _share_of("num_right", "num_made")

    @property
    def f05(self) -> float:
        return _f05(self.precision, self.recall)

    def is_empty(self) -> bool:
        return not (self.num_sentences or self.num_made)


@dataclass(slots=True)
class Scores:
    """Counts, and the shares made of them."""

    num_wrong: int = 0
    num_exact: int = 0  # the corrected text equals the gold text, code point for code point
    num_with_reasons: int = 0  # wrong sentences whose gold reasons are known
    num_tagged: int = 0  # exact, and all reasons right
    num_clean: int = 0
    num_false_positives: int = 0  # clean sentences with any change
    num_refused: int = 0
    num_edits: int = 0
    num_gold_edits: int = 0
    num_right_edits: int = 0
    num_malformed_outputs: int = 0  # outputs of which the parser dropped anything
    # Edits made, by the nearest tenth of their confidence.
    confidences: dict[float, ReasonScores] = field(default_factory=lambda: defaultdict(ReasonScores))
    kinds: dict[str, ReasonScores] = field(default_factory=lambda: defaultdict(ReasonScores))  # of M2
    reasons: dict[Reason, ReasonScores] = field(default_factory=lambda: {reason: ReasonScores() for reason in Reason})

    exact = _share_of("num_exact", "num_wrong")
    tagged = _share_of("num_tagged", "num_with_reasons")
    false_positives = _share_of("num_false_positives", "num_clean")
    precision = _share_of("num_right_edits", "num_edits")
    recall = _share_of("num_right_edits", "num_gold_edits")

    @property
    def f05(self) -> float:
        """F0.5, which weighs precision twice as much as recall, over the edits of all sentences."""
        return _f05(self.precision, self.recall)

    @property
    def calibration_error(self) -> float:
        """How far the confidence is from the share of the edits that are right, on average over the edits."""
        wrong_by = (abs(one.num_right - one.confidence) for one in self.confidences.values())
        return _share(sum(wrong_by), sum(one.num_made for one in self.confidences.values()))

    def add(self, item: Item, answer: Answer) -> None:
        """Count one sentence."""
        self.num_refused += answer.is_refused
        self.num_malformed_outputs += answer.num_malformed > 0
        gold = find_edits(item.sentence, item.corrected)
        ours = find_edits(item.sentence, answer.corrected)
        self.num_edits += len(ours)
        self.num_gold_edits += len(gold)
        self.num_right_edits += len(set(ours) & set(gold))
        self._add_reasons_made(item, answer)
        if item.kinds is not None:
            self._add_kinds(item, answer, ours)
        if item.is_clean:
            self.num_clean += 1
            self.num_false_positives += answer.corrected != item.sentence
        else:
            is_exact = answer.corrected == item.corrected
            self.num_wrong += 1
            self.num_exact += is_exact
            if item.reasons is not None:
                self.num_with_reasons += 1
                self.num_tagged += is_exact and tuple(edit.reason for edit in answer.edits) == item.reasons
            self._add_reasons_wanted(item, answer, (gold, ours))

    def _add_reasons_wanted(self, item: Item, answer: Answer, edits: tuple[list[TextEdit], list[TextEdit]]) -> None:
        gold, ours = edits
        is_exact = answer.corrected == item.corrected
        reasons = item.reasons or ()
        are_paired = len(reasons) == len(gold)
        for number, reason in enumerate(reasons):
            self.reasons[reason].num_wanted += 1
            self.reasons[reason].num_mended += is_exact or (are_paired and gold[number] in ours)
        for reason in set(reasons):
            self.reasons[reason].num_sentences += 1

    def _add_kinds(self, item: Item, answer: Answer, ours: list[TextEdit]) -> None:
        """Of each kind what was wanted, found, and made: a wrong edit is of the kind of its reason."""
        for kind, alone in item.kinds or ():
            is_found, counts = set(find_edits(item.sentence, alone)) <= set(ours), self.kinds[kind]
            counts.num_wanted += 1
            counts.num_mended += is_found
            counts.num_made += is_found
            counts.num_right += is_found
        for edit in answer.edits:
            self.kinds[_KIND_OF.get(edit.reason, "form")].num_made += not is_right(item, answer, edit)

    def _add_reasons_made(self, item: Item, answer: Answer) -> None:
        for edit in answer.edits:
            for counts in (self.reasons[edit.reason], self.confidences[round(edit.confidence, 1)]):
                counts.num_made += 1
                counts.confidence += edit.confidence
                counts.num_right += is_right(item, answer, edit)
                counts.num_false += item.is_clean


@dataclass(frozen=True, slots=True)
class Result:
    """An item and what became of it."""

    item: Item
    answer: Answer

    @property
    def is_miss(self) -> bool:
        return self.answer.corrected != self.item.corrected


def evaluate(items: Sequence[Item], corrector: OfflineCorrector) -> Iterator[Result]:
    """Correct the items as the service does, a text of several sentences included; a result at a time, in order."""
    for start in range(0, len(items), _AT_ONCE):
        some = items[start : start + _AT_ONCE]
        for item, outcome in zip(some, corrector.correct([each.sentence for each in some]), strict=True):
            if isinstance(outcome, Correction):
                answer = Answer(outcome.corrected, outcome.edits, num_malformed=outcome.num_malformed)
            else:
                answer = Answer(item.sentence, is_refused=True)
            yield Result(item, answer)


def score(results: Iterable[Result]) -> Scores:
    """The counts of these results."""
    scores = Scores()
    for result in results:
        scores.add(result.item, result.answer)
    return scores


def _f05(precision: float, recall: float) -> float:
    return _share(1.25 * precision * recall, 0.25 * precision + recall)


def _share(count: float, total: float) -> float:
    return count / total if total else 0.0
