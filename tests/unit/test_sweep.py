"""The table over the strictness that the figure of the trade-off is drawn from."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.training.evaluation.items import Item
from ops.training.evaluation.scores import Answer, Scores
from ops.training.evaluation.sweep import STRICTNESSES, sweep, write_sweep
from scheduler.settings import Settings


def test_more_certainty_never_changes_more(monkeypatch: pytest.MonkeyPatch) -> None:
    few = (-1.0, 3.0, 20.0)
    monkeypatch.setattr("ops.training.evaluation.sweep.STRICTNESSES", few)
    items = [Item("He goed to school.", "He went to school."), Item("She writed it.", "She wrote it.")]

    scores = sweep(items, Settings.from_env({}))

    edits = [scores[bias].num_edits for bias in few]
    assert edits == sorted(edits, reverse=True) and len(set(edits)) > 1
    assert list(scores) == list(few)


def test_every_row_is_scored_at_its_own_strictness(monkeypatch: pytest.MonkeyPatch) -> None:
    def corrector(settings: Settings) -> object:
        return lambda sentences: [Answer("x" if settings.strictness < 2 else text) for text in sentences]

    monkeypatch.setattr("ops.training.evaluation.sweep.ProductCorrector", corrector)

    scores = sweep([Item("a", "a")], Settings.from_env({}))

    assert [bias for bias in STRICTNESSES if scores[bias].num_false_positives] == [b for b in STRICTNESSES if b < 2]


def test_the_table_has_the_columns_of_the_one_that_training_writes(tmp_path: Path) -> None:
    scores = Scores(num_wrong=4, num_exact=3, num_detected=4, num_clean=10, num_false_positives=1)

    write_sweep({1.25: scores}, tmp_path / "eos_bias-x.csv")

    assert (tmp_path / "eos_bias-x.csv").read_text().splitlines() == [
        "eos_bias,exact,tagged,detected,false_positives",
        "1.2500,0.7500,0.0000,1.0000,0.1000",
    ]
