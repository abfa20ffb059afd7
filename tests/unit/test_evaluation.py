"""The scores: each share counts what its name says."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.grammar.correction import Edit
from api.grammar.reasons import Reason
from ops.evaluation.items import Item, read_items, write_items
from ops.evaluation.report import format_table
from ops.evaluation.scores import Answer, Result, Scores
from ops.evaluation.scores import score as score_results

GOED = Item("He goed to school.", "He went to school.", (Reason.PAST_IRREG,))
R = Reason
HOME = Item("He goed home and eated it", "He went home and ate it")
CLEAN = Item("He went to school.", "He went to school.", ())


def score(item: Item, *answers: Answer) -> Scores:
    return score_results(Result(item, answer) for answer in answers)


def answer_with(item: Item, *edits: tuple[str, str, Reason], corrected: str | None = None) -> Answer:
    """The answer that makes these edits, in order of position."""
    text, made, end = item.sentence, [], 0
    for old, new, reason in edits:
        start = item.sentence.index(old, end)
        end = start + len(old)
        made.append(Edit(start, end, old, new, reason, ""))
    for edit in reversed(made):
        text = text[: edit.start] + edit.replacement + text[edit.end :]
    return Answer(text if corrected is None else corrected, tuple(made))


SHARES = {
    "all is right": (GOED, answer_with(GOED, ("goed", "went", R.PAST_IRREG)),
                     {"exact": 1, "tagged": 1, "f05": 1}),
    "a wrong replacement in the right place": (GOED, Answer("He goes to school."),
                                               {"exact": 0, "precision": 0, "recall": 0}),
    "the right text for the wrong reason": (GOED, answer_with(GOED, ("goed", "went", R.TENSE_PAST)),
                                            {"exact": 1, "tagged": 0}),
    "half of a sentence": (HOME, Answer("He went home and eated it"), {"precision": 1, "recall": 0.5, "f05": 5 / 6}),
    "a change too many": (GOED, Answer("He went to schools."), {"precision": 0.5, "recall": 1, "f05": 5 / 9}),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARES)
def test_a_share_counts_what_its_name_says(name: str):
    item, answer, shares = SHARES[name]

    scores = score(item, answer)

    assert {share: getattr(scores, share) for share in shares} == pytest.approx(shares)


def test_each_reason_of_an_item_counts_once_among_sentences_and_each_time_among_mistakes():
    both = Item("He want to went and to came", "He wants to go and to come", (R.SVA_SG, R.BASE_TO, R.BASE_TO))

    scores = score(both, Answer("He wants to go and to come"))

    to, agreement = scores.reasons[R.BASE_TO], scores.reasons[R.SVA_SG]
    assert (to.num_sentences, to.num_wanted, to.num_mended) == (1, 2, 2)
    assert (agreement.num_sentences, agreement.num_wanted, agreement.num_mended) == (1, 1, 1)


def test_a_mistake_mended_beside_one_that_stays_counts_for_its_own_reason():
    two = Item("He goed home and eat it", "He went home and ate it", (R.PAST_IRREG, R.TENSE_SEQ))

    scores = score(two, answer_with(two, ("goed", "went", R.PAST_IRREG), ("eat", "eats", R.SVA_SG)))

    recall = {reason: scores.reasons[reason].recall for reason in two.reasons}
    precision = {reason: scores.reasons[reason].precision for reason in (R.PAST_IRREG, R.SVA_SG)}
    assert recall == {R.PAST_IRREG: 1, R.TENSE_SEQ: 0}
    assert precision == {R.PAST_IRREG: 1, R.SVA_SG: 0}


def test_neighbouring_edits_that_are_one_change_count_for_both_their_reasons_if_all_is_right():
    knows = Item("He don't knows it", "He doesn't know it", (R.SVA_SG, R.BASE_DO))

    whole = score(knows, answer_with(knows, ("don't", "doesn't", R.SVA_SG), ("knows", "know", R.BASE_DO)))
    half = score(knows, answer_with(knows, ("don't", "doesn't", R.SVA_SG)))

    assert [whole.reasons[reason].recall for reason in knows.reasons] == [1, 1]
    assert [whole.reasons[reason].precision for reason in knows.reasons] == [1, 1]
    assert [half.reasons[reason].num_mended for reason in knows.reasons] == [0, 0]


def test_an_edit_of_a_clean_sentence_is_a_false_positive_and_a_wrong_one_of_its_reason():
    scores = score(CLEAN, Answer(CLEAN.sentence), answer_with(CLEAN, ("went", "goes", R.SVA_SG)))

    assert (scores.num_clean, scores.num_false_positives, scores.num_wrong) == (2, 1, 0)
    assert (scores.reasons[R.SVA_SG].num_made, scores.reasons[R.SVA_SG].num_false) == (1, 1)
    assert scores.reasons[R.SVA_SG].precision == 0


def test_items_survive_a_round_trip_through_the_file(tmp_path):
    items = [GOED, CLEAN, Item("caf\u00e9\u2028x", "caf\u00e9 y")]
    write_items(items, tmp_path / "items.jsonl")

    assert read_items(tmp_path / "items.jsonl") == items


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b"nonsense", "Invalid JSON"),
        (b'{"sentence": "a", "corrected": "b", "reasons": ["bad"]}', "reasons: 0: Input should be 'irregular_past', "),
    ],
)
def test_a_line_that_is_no_item_is_named_with_its_fault(tmp_path: Path, line: bytes, fault: str):
    path = tmp_path / "items.jsonl"
    path.write_bytes(b'{"sentence": "a", "corrected": "b"}\n\n' + line)

    with pytest.raises(ValueError, match=f"items.jsonl, line 3: .*{fault}"):
        read_items(path)


def test_the_table_has_counts_and_a_line_for_each_reason():
    answer = answer_with(GOED, ("goed", "went", R.PAST_IRREG))
    scores = score_results([Result(GOED, answer), *[Result(CLEAN, Answer(CLEAN.sentence, num_malformed=2))] * 437])

    lines = [" ".join(line.split()) for line in format_table(scores).splitlines()]

    assert "exact match 100.0% 1 of 1 wrong sentences, 95 %: 20.7 to 100.0" in lines
    assert "false positives 0.0% 0 of 437 clean sentences, 95 %: 0.0 to 0.9" in lines
    assert "malformed outputs 437" in lines
    assert "irregular_past 1/1 100.0% 1/1 100.0% -" in lines
    assert lines[-1] == "1 1/1 100.0%"


def test_nothing_to_count_is_no_error():
    assert (Scores().exact, Scores().f05, Scores().false_positives) == (0, 0, 0)
    assert "F0.5" in format_table(Scores())
