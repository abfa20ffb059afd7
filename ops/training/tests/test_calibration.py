"""How often an edit of some certainty is right."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from pathlib import Path

import pytest

from api.grammar.correction import Edit
from api.grammar.edit_script import TAG_IDS, confidence_of
from api.grammar.reasons import Reason
from miniserve_training.model.calibration import calibrate, calibration_of, samples_of, uncalibrated
from ops.evaluation.items import Item
from ops.evaluation.scores import Answer, Result
from scheduler.messages import EVEN_ODDS, LOG_ODDS_PER_STEP
from worker.model.weights import DEFAULT_PATH, load_weights

R = Reason
WAS, IS = "Be it so.", "Is it so."
LONG = " ".join(["Be it so"] * 12)


def result(step: int, *, is_clean: bool, reason: Reason = R.SVA_BE, sentence: str = WAS) -> Result:
    corrected = sentence.replace("Be", "Is", 1)
    edit = Edit(0, 2, "Be", "Is", reason, "", model_confidence=round(confidence_of(step), 2))
    return Result(Item(sentence, sentence if is_clean else corrected), Answer(corrected, (edit,)))


def log_odds(natural: list[Result], reason: Reason = R.SVA_BE, certainty: float = 3.0, long: float = 0.0) -> float:
    wrong = samples_of([result(9, is_clean=False)], are_natural=False)
    lines, of_long = calibration_of(samples_of(natural, are_natural=True), [wrong])
    constant, slope = lines[TAG_IDS[reason]]
    return constant + long * of_long[0] + (slope + long * of_long[1]) * certainty


def test_a_confidence_is_the_share_of_such_edits_that_are_right_in_natural_text() -> None:
    natural = [result(step, is_clean=step + number < 16) for step in range(1, 16) for number in range(14)]

    for certainty in (1.0, 3.5, 6.0):
        assert 1 / (1 + exp(-log_odds(natural, certainty=certainty))) == pytest.approx(certainty / 7, abs=0.12)


def test_a_reason_that_is_mostly_wrong_and_a_long_sentence_give_less_confidence() -> None:
    right = [result(9, is_clean=False)] * 100
    wrong = [result(9, is_clean=True, reason=R.MISSING_BE)] * 100 + [result(9, is_clean=True, sentence=LONG)] * 20

    assert log_odds(right + wrong, R.MISSING_BE) < log_odds(right + wrong, R.PAST_IRREG) < log_odds(right + wrong)
    assert log_odds(right + wrong, long=1.0) < log_odds(right + wrong)


def test_what_the_words_around_say_for_an_edit_is_told_from_what_the_model_says() -> None:
    edit = replace(result(9, is_clean=False).answer.edits[0], confidence=0.9, evidence=1.4)
    of_both = Result(Item(WAS, IS), Answer(IS, (edit,)))

    samples, alone = (samples_of([one], are_natural=True) for one in (of_both, result(9, is_clean=False)))

    assert (samples.evidence.tolist(), alone.evidence.tolist()) == ([1.4], [0.0])
    assert samples.features[0, 1] == alone.features[0, 1]  # the certainty of the model


def test_of_broken_sentences_only_what_mends_them_is_counted_and_each_file_alike() -> None:
    mended = result(9, is_clean=False)
    missed = replace(mended, answer=Answer("Was it so.", (replace(mended.answer.edits[0], replacement="Was"),)))

    few, many = (samples_of([mended] * number + [missed], are_natural=False) for number in (1, 40))

    assert (len(few.right), len(many.right)) == (1, 40)
    assert few.weights.sum() == pytest.approx(many.weights.sum())


def test_no_edit_is_worth_less_because_the_model_is_surer_of_it() -> None:
    natural = [result(step, is_clean=step > 8) for step in range(1, 16)] * 5

    assert log_odds(natural, certainty=6.0) >= log_odds(natural, certainty=1.0)
    assert log_odds(natural, certainty=6.0, long=1.0) >= log_odds(natural, certainty=1.0, long=1.0)


def test_uncalibrated_weights_say_how_certain_they_are() -> None:
    config = uncalibrated(load_weights()).config

    for step in (1, 5, 15):
        constant, slope = config.calibration[str(TAG_IDS[R.SVA_BE])]
        (features,) = samples_of([result(step, is_clean=True)], are_natural=True).features
        assert (constant + slope * features[1]) / LOG_ODDS_PER_STEP + EVEN_ODDS == pytest.approx(step)


def test_what_is_written_are_the_weights_with_their_calibration(tmp_path: Path) -> None:
    made = calibrate(
        [result(9, is_clean=True)], [[result(9, is_clean=False)]], tmp_path / "w.safetensors", DEFAULT_PATH
    )

    weights = load_weights(tmp_path / "w.safetensors")
    assert {tag: tuple(line) for tag, line in weights.config.calibration.items()} == made.calibration
    assert (weights.tok_emb == load_weights().tok_emb).all()
