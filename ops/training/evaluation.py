"""Scores corrections: exact match, detection, edits, false positives, reasons.

`evaluate(path, correct_batch)` reads JSON lines `{"sentence", "corrected", "reasons"}`; a sentence that equals its
correction is a clean one, `reasons` (slugs in order of position) may be missing. Edits are found by comparing words
and marks of two texts, for the gold text and ours alike, so any corrector can be scored, whatever it says it did.
"""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from api.reasons import Reason
from api.words import split_pieces


@dataclass(frozen=True, slots=True)
class Item:
    """One line of an evaluation file."""

    sentence: str
    corrected: str
    reasons: tuple[Reason, ...] | None = None

    @property
    def is_clean(self) -> bool:
        return self.sentence == self.corrected


@dataclass(frozen=True, slots=True)
class Answer:
    """What the corrector under test made of a sentence."""

    corrected: str
    reasons: tuple[Reason, ...] = ()
    is_refused: bool = False  # too long, for instance; counted as unchanged


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Pieces [start, end) of the sentence become these texts."""

    start: int
    end: int
    texts: tuple[str, ...]

    def touches(self, other: TextEdit) -> bool:
        """Whether the two change a common piece; an insertion touches the pieces on both sides of it."""
        return self._first < other._last and other._first < self._last

    @property
    def _first(self) -> int:
        return self.start - (self.start == self.end)

    @property
    def _last(self) -> int:
        return self.end + (self.start == self.end)


@dataclass(slots=True)
class Scores:
    """Counts, and the shares made of them. Every share is 0 where there is nothing to count."""

    num_wrong: int = 0
    num_exact: int = 0  # the corrected text equals the gold text, code point for code point
    num_detected: int = 0  # at least one edit touches a piece that a gold edit touches
    num_with_reasons: int = 0  # wrong sentences whose gold reasons are known
    num_tagged: int = 0  # exact, and all reasons right
    num_clean: int = 0
    num_false_positives: int = 0  # clean sentences with any change
    num_refused: int = 0
    num_edits: int = 0
    num_gold_edits: int = 0
    num_right_edits: int = 0
    reason_totals: Counter[Reason] = field(default_factory=Counter)
    reason_exact: Counter[Reason] = field(default_factory=Counter)

    @property
    def exact(self) -> float:
        return _share(self.num_exact, self.num_wrong)

    @property
    def detection(self) -> float:
        return _share(self.num_detected, self.num_wrong)

    @property
    def tagged(self) -> float:
        return _share(self.num_tagged, self.num_with_reasons)

    @property
    def false_positives(self) -> float:
        return _share(self.num_false_positives, self.num_clean)

    @property
    def precision(self) -> float:
        return _share(self.num_right_edits, self.num_edits)

    @property
    def recall(self) -> float:
        return _share(self.num_right_edits, self.num_gold_edits)

    @property
    def f05(self) -> float:
        """F0.5, which weighs precision twice as much as recall, over the edits of all sentences."""
        return _share(1.25 * self.precision * self.recall, 0.25 * self.precision + self.recall)

    def as_document(self) -> dict[str, object]:
        """Shares and counts for machines."""
        shares = ("exact", "detection", "tagged", "false_positives", "precision", "recall", "f05")
        counts = [spec.name for spec in fields(self) if spec.name.startswith("num_")]
        reasons = {
            reason.value: {"exact": self.reason_exact[reason], "total": total}
            for reason, total in self.reason_totals.items()
        }
        return {name: getattr(self, name) for name in (*shares, *counts)} | {"reasons": reasons}

    def add(self, item: Item, answer: Answer) -> None:
        """Count one sentence."""
        self.num_refused += answer.is_refused
        gold = find_edits(item.sentence, item.corrected)
        ours = find_edits(item.sentence, answer.corrected)
        self.num_edits += len(ours)
        self.num_gold_edits += len(gold)
        self.num_right_edits += len(set(ours) & set(gold))
        if item.is_clean:
            self.num_clean += 1
            self.num_false_positives += answer.corrected != item.sentence
        else:
            self._add_wrong(item, answer, any(one.touches(other) for one in ours for other in gold))

    def _add_wrong(self, item: Item, answer: Answer, is_detected: bool) -> None:
        is_exact = answer.corrected == item.corrected
        self.num_wrong += 1
        self.num_exact += is_exact
        self.num_detected += is_detected
        if item.reasons is not None:
            self.num_with_reasons += 1
            self.num_tagged += is_exact and answer.reasons == item.reasons
            for reason in set(item.reasons):
                self.reason_totals[reason] += 1
                self.reason_exact[reason] += is_exact


CorrectBatch = Callable[[Sequence[str]], Sequence[Answer]]


def evaluate(path: Path, correct_batch: CorrectBatch) -> Scores:
    """Score a corrector on a file of items. Raises ValueError naming the line that is not one, or if there is none."""
    items = read_items(path)
    if not items:
        raise ValueError(f"{path.name} holds no sentence to score")
    scores = Scores()
    answers = correct_batch([item.sentence for item in items])
    for item, answer in zip(items, answers, strict=True):
        scores.add(item, answer)
    return scores


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


def read_items(path: Path) -> list[Item]:
    """The items of a file; blank lines are skipped."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return [_parse_item(line, path, number) for number, line in enumerate(lines, start=1) if line.strip()]


def write_items(items: Iterable[Item], path: Path) -> None:
    """The same format, written."""
    with path.open("w", encoding="utf-8") as file:
        for item in items:
            document = {"sentence": item.sentence, "corrected": item.corrected}
            reasons = {} if item.reasons is None else {"reasons": [reason.value for reason in item.reasons]}
            file.write(json.dumps(document | reasons, ensure_ascii=False) + "\n")


def format_table(scores: Scores) -> str:
    """The scores for people, each share with its counts."""
    rows = [
        ("exact match", scores.exact, scores.num_exact, scores.num_wrong, "wrong sentences"),
        ("detected", scores.detection, scores.num_detected, scores.num_wrong, "wrong sentences"),
        ("exact, reasons right", scores.tagged, scores.num_tagged, scores.num_with_reasons, "wrong sentences"),
        ("false positives", scores.false_positives, scores.num_false_positives, scores.num_clean, "clean sentences"),
        ("precision", scores.precision, scores.num_right_edits, scores.num_edits, "edits made"),
        ("recall", scores.recall, scores.num_right_edits, scores.num_gold_edits, "edits wanted"),
    ]
    lines = [f"{name:<22}{share:>7.1%}  {count} of {total} {of}" for name, share, count, total, of in rows if total]
    lines.append(f"{'F0.5':<22}{scores.f05:>7.1%}")
    if scores.num_refused:
        lines.append(f"{'refused':<22}{scores.num_refused:>7}  sentences over the limits, counted as unchanged")
    for reason in Reason:
        if total := scores.reason_totals[reason]:
            count = scores.reason_exact[reason]
            lines.append(f"  {reason.value:<24}{count / total:>7.1%}  {count} of {total}")
    return "\n".join(lines)


def _parse_item(line: str, path: Path, number: int) -> Item:
    try:
        document = json.loads(line)
        reasons = document.get("reasons")
        parsed = None if reasons is None else tuple(Reason(slug) for slug in reasons)
        sentence, corrected = document["sentence"], document["corrected"]
        if not (isinstance(sentence, str) and isinstance(corrected, str)):
            raise TypeError("`sentence` and `corrected` are texts")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        fault = error.msg if isinstance(error, json.JSONDecodeError) else error  # its own line number counts from here
        raise ValueError(f'{path.name}, line {number}: not {{"sentence", "corrected", "reasons"?}}: {fault}') from None
    return Item(sentence, corrected, parsed)


def _share(count: float, total: float) -> float:
    return count / total if total else 0.0
