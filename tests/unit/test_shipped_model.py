"""The weights and the tokenizer that ship, on sentences written by hand: guard and engine included, no server."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.grammar.reasons import Reason
from ops.evaluation.items import read_items
from ops.evaluation.scores import Scores, evaluate, score
from ops.run.offline import OfflineCorrector
from scheduler.settings import Settings

HAND_WRITTEN = Path(__file__).parents[2] / "docs" / "training" / "handwritten.jsonl"
HELD_OUT = Path(__file__).parents[1] / "heldout"


@pytest.fixture(scope="module")
def sets() -> dict[str, Scores]:
    corrector = OfflineCorrector.load(Settings())
    files = {"by hand": [HAND_WRITTEN], "held out": [HELD_OUT / "wrong.jsonl", HELD_OUT / "right.jsonl"]}
    return {
        name: score(evaluate([item for path in paths for item in read_items(path)], corrector))
        for name, paths in files.items()
    }


@pytest.mark.parametrize(
    ("name", "figure", "least", "most"),
    [
        ("by hand", "num_wrong", 100, 100),
        ("by hand", "num_clean", 73, 73),
        ("by hand", "num_refused", 0, 0),
        ("by hand", "exact", 0.88, 1),
        ("by hand", "tagged", 0.8, 1),  # what is mended comes with the right reason
        ("by hand", "false_positives", 0, 0.06),
        # Written without sight of the generator of the training's mistakes.
        ("held out", "num_wrong", 300, 300),
        ("held out", "num_clean", 500, 500),
        ("held out", "num_malformed_outputs", 0, 0),
        ("held out", "exact", 0.89, 1),  # .957 as shipped; processors round differently
        ("held out", "precision", 0.85, 1),
        ("held out", "false_positives", 0, 0.02),
    ],
)
def test_a_figure_of_the_model_is_within_its_bars(
    sets: dict[str, Scores], name: str, figure: str, least: float, most: float
) -> None:
    assert least <= getattr(sets[name], figure) <= most


def test_the_held_out_sentences_have_every_reason_four_times(sets: dict[str, Scores]) -> None:
    reasons = sets["held out"].reasons

    assert {reason for reason, one in reasons.items() if one.num_sentences >= 4} == set(Reason)


@pytest.mark.parametrize(
    "wrong, right",
    [
        ("He goed to school.", "He went to school."),
        ("She don't like coffee.", "She doesn't like coffee."),
        ("Birds singing outside.", "Birds are singing outside."),
        ("They are happy.", "They are happy."),
        ("She have it.", "She has it."),
        ("He eat it.", "He eats it."),
        ("She see it.", "She sees it."),
        ("It can done.", "It can be done."),
        ("He not like it.", "He does not like it."),
        ("He GO to school.", "He GOES to school."),
        ("AIDS has killed many people.", "AIDS has killed many people."),
        ("The report of MAY is here.", "The report of MAY is here."),
        ("How does works this machine?", "How does this machine work?"),
        ("What does means this word?", "What does this word mean?"),
        ("Do you can swim?", "Can you swim?"),
        ("She cans drive a car.", "She can drive a car."),
        ("He cans swim.", "He can swim."),
    ],
)
def test_what_is_typed_first_comes_out_as_promised(wrong, right):
    corrector = OfflineCorrector.load(Settings())

    assert [answer.corrected for answer in corrector.correct([wrong])] == [right]
