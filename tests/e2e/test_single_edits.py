"""Each edit of an answer can be accepted by itself: with one alone the sentence is not broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from api.grammar.correction import Correction, Edit
from ops.run.offline import OfflineCorrector
from scheduler.settings import Settings

WRONG = Path(__file__).parents[1] / "heldout" / "wrong.jsonl"
ONE_MISTAKE = [
    "She knows where is the library.", "I wonder what is the time.", "Tell me where are my keys.",
    "Can you tell me how much is this bag?", "Where the new bank is?", "What means this word?",
    "Where your little brother works now?", "When the last bus left last night?", "He not like it.",
    "They not went home.", "Are you knowing him?", "I am usually getting up at six.",
]  # fmt: skip
_LEAST_SHARE = 0.95  # of edits after which the model, asked again, ends where it would have ended at once


@pytest.fixture(scope="module")
def corrector() -> OfflineCorrector:
    return OfflineCorrector.load(Settings())


@pytest.fixture(scope="module")
def answers(corrector: OfflineCorrector) -> dict[str, Correction]:
    sentences = [json.loads(line)["sentence"] for line in WRONG.read_text(encoding="utf-8").splitlines()]
    sentences += ONE_MISTAKE
    return dict(zip(sentences, corrector.correct(sentences), strict=True))


def with_one(sentence: str, edit: Edit) -> str:
    return sentence[: edit.start] + edit.replacement + sentence[edit.end :]


def test_one_mistake_is_one_edit(answers: dict[str, Correction]) -> None:
    found = {sentence: [with_one(sentence, edit) for edit in answers[sentence].edits] for sentence in ONE_MISTAKE}

    assert found == {sentence: [answers[sentence].corrected] * len(made) for sentence, made in found.items()}
    assert sum(map(bool, found.values())) >= 0.8 * len(found), "the model mends too few of them to show anything"


def test_who_accepts_one_edit_and_asks_again_comes_to_the_same_sentence(
    corrector: OfflineCorrector, answers: dict[str, Correction]
) -> None:
    steps = [(with_one(sentence, edit), answer) for sentence, answer in answers.items() for edit in answer.edits]

    again = corrector.correct([text for text, _ in steps])

    same = [one.corrected == answer.corrected for one, (_, answer) in zip(again, steps, strict=True)]
    assert len(steps) > 300 and sum(same) >= _LEAST_SHARE * len(same)
