"""How certain an edit must be for each reason, and how files of M2 are read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from api.grammar.correction import Edit
from api.grammar.edit_script import TAG_IDS
from api.grammar.reasons import Reason
from ops.evaluation.calibration import LONG_BIAS, certainty_steps, tally, thresholds, write_calibrated
from ops.evaluation.items import Item, read_items
from ops.evaluation.scores import Answer, Result
from scheduler.messages import CERTAINTY_STEPS_PER_LOGIT
from worker.model.weights import load_weights

CONFIDENCES = {1: 0.6225, 2: 0.7311, 4: 0.8808, 8: 0.982, 15: 0.9994}
R = Reason


def result(reason: Reason, steps: int, *, is_clean: bool) -> Result:
    edit = Edit(0, 2, "Be", "Is", reason, "", CONFIDENCES[steps])
    item = Item("Be", "Be" if is_clean else "Is")
    return Result(item, Answer("Is", (edit,)))


def test_a_confidence_says_of_how_many_steps_it_is_made() -> None:
    assert {steps: certainty_steps(confidence) for steps, confidence in CONFIDENCES.items()} == {
        steps: steps for steps in CONFIDENCES
    }


def test_a_reason_that_spoils_right_sentences_has_to_be_surer_than_one_that_does_not() -> None:
    quiet = [Result(Item("He went", "He went"), Answer("He went"))] * 400
    spoils = [result(R.MISSING_BE, 2, is_clean=True)] * 20 + [result(R.MISSING_BE, 15, is_clean=False)] * 20
    never = [result(R.PAST_IRREG, steps, is_clean=False) for steps in (1, 2, 4, 8)] * 20

    asked = thresholds(tally(quiet + spoils + never), most_changed=0.01)

    assert asked[R.MISSING_BE] > 1.0
    assert asked[R.PAST_IRREG] <= 0.5


def test_of_mended_sentences_the_certainty_of_a_long_one_counts_less_as_it_is_asked_for_more() -> None:
    short = result(R.PAST_IRREG, 8, is_clean=False)
    long = replace(short, item=replace(short.item, sentence="Be " * 40))

    missed = replace(short, answer=replace(short.answer, corrected="Was"))

    (short_step,), (long_step,) = (tally([one]).right.sum(axis=0).nonzero()[0] for one in (short, long))

    assert not tally([missed]).right.any()
    assert short_step - long_step == LONG_BIAS * CERTAINTY_STEPS_PER_LOGIT


def test_what_is_written_asks_so_much_at_the_strictness_that_ships(tmp_path: Path) -> None:
    write_calibrated(dict.fromkeys(Reason, 2.5) | {R.MISSING_BE: 6.0}, tmp_path / "w.safetensors")

    config = load_weights(tmp_path / "w.safetensors").config
    assert config.eos_bias + config.reason_biases[str(TAG_IDS[R.MISSING_BE])] == 6.0
    assert config.eos_bias + config.reason_biases[str(TAG_IDS[R.PAST_IRREG])] == 2.5
    assert config.long_bias == LONG_BIAS


M2 = """S He go to school , did n't he ?
A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0
A 5 6|||R:VERB:TENSE|||does|||REQUIRED|||-NONE-|||0
A 1 2|||R:VERB|||went|||REQUIRED|||-NONE-|||1

S It is fine ( now ) .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
"""


def test_m2_gives_the_first_annotators_corrections_as_text(tmp_path: Path) -> None:
    path = tmp_path / "set.m2"
    path.write_text(M2, encoding="utf-8")

    assert read_items(path) == [
        Item("He go to school, didn't he?", "He goes to school, doesn't he?"),
        Item("It is fine (now).", "It is fine (now)."),
    ]


@pytest.mark.parametrize("text", ["S He go\nA 5 6|||X|||goes|||R|||-|||0\n", "S He go\nA x\n", "He go\n"])
def test_a_line_that_is_no_m2_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "set.m2"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ValueError, match=r"set.m2, line \d: "):
        read_items(path)
