"""How files of M2 are read, and their verb errors scored."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.grammar.correction import Edit
from api.grammar.reasons import Reason
from ops.evaluation.items import Item, read_items
from ops.evaluation.report import format_table
from ops.evaluation.scores import Answer, Result, score

R = Reason

M2 = """S He go to school , did n't he ?
A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0
A 5 6|||R:VERB:TENSE|||does|||REQUIRED|||-NONE-|||0
A 3 4|||R:NOUN|||church|||REQUIRED|||-NONE-|||0
A 1 2|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||1

S It is fine ( now ) .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
"""


def test_m2_gives_the_first_annotators_corrections_of_verb_forms_as_text(tmp_path: Path) -> None:
    path = tmp_path / "set.m2"
    path.write_text(M2, encoding="utf-8")
    wanted, sva, tense = (
        f"He {go} to school, {tag} he?" for go, tag in (("goes", "doesn't"), ("goes", "didn't"), ("go", "doesn't"))
    )

    assert read_items(path) == [
        Item("He go to school, didn't he?", wanted, kinds=(("agreement", sva), ("tense", tense))),
        Item("It is fine (now).", "It is fine (now).", kinds=()),
    ]


def test_verb_errors_of_m2_are_scored_by_kind() -> None:
    item = Item(
        "He go and went.", "He goes and goed.", kinds=(("agreement", "He goes and went."), ("tense", "He go and goed."))
    )
    found = Edit(3, 5, "go", "goes", R.SVA_SG, "")
    missed = Edit(10, 14, "went", "gone", R.PERF_PART, "")
    scores = score([Result(item, Answer("He goes and gone.", (found, missed)))])

    counts = {name: (one.num_wanted, one.num_mended, one.num_made) for name, one in scores.kinds.items()}
    assert counts == {
        "agreement": (1, 1, 1),
        "tense": (1, 0, 0),
        "form": (0, 0, 1),
    }
    assert (scores.kinds["agreement"].f05, scores.kinds["form"].f05) == (1.0, 0.0)
    assert "agreement" in format_table(scores)


@pytest.mark.parametrize("text", ["S He go\nA 5 6|||R:VERB:SVA|||goes|||R|||-|||0\n", "S He go\nA x\n", "He go\n"])
def test_a_line_that_is_no_m2_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "set.m2"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ValueError, match=r"set.m2, line \d: "):
        read_items(path)
