"""Training sentences written by hand: every line of the repository is sound. Needs no PyTorch, but time."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.grammar.guard import Guard
from api.grammar.reasons import Reason
from api.grammar.verb_words import VerbWords
from api.grammar.verbs import VerbTable
from ops.training.text.written.check import HeldOutSentences, faults
from ops.training.text.written.lines import FOLDER, is_line, load

HELD_OUT = Path(__file__).parents[1] / "heldout"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_every_written_line_is_sound(path: Path) -> None:
    guard, held_out = Guard(VerbWords(VerbTable.load())), HeldOutSentences.of_folder(HELD_OUT)
    lines = path.read_text(encoding="utf-8").splitlines()

    found = {
        number: list(faults(line, guard, held_out, num_draws=3))
        for number, line in enumerate(lines, start=1)
        if is_line(line)
    }

    assert found
    assert {number: why for number, why in found.items() if why} == {}


def test_a_few_lines_are_kept_from_the_training():
    trained = {line.places for line in load()}  # frames come several times
    kept = {line.places for line in load(held_out=True)}

    assert 0.03 < len(kept) / (len(kept) + len(trained)) < 0.05
    assert not kept & trained


def test_every_reason_has_written_sentences():
    reasons = {reason for line in load() for place in line.places for one in place.variants for reason, _ in one.wrong}

    assert reasons == set(Reason)
