"""The scores: each share counts what its name says."""

from __future__ import annotations

import pytest

from api.reasons import Reason
from ops.training.evaluation import Answer, Item, Scores, evaluate, find_edits, format_table, read_items, write_items

GOED = Item("He goed to school.", "He went to school.", (Reason.PAST_IRREG,))
CLEAN = Item("He went to school.", "He went to school.", ())


def score(item: Item, *answers: Answer) -> Scores:
    scores = Scores()
    for answer in answers:
        scores.add(item, answer)
    return scores


def test_the_right_correction_counts_as_exact_detected_and_tagged():
    scores = score(GOED, Answer(GOED.corrected, (Reason.PAST_IRREG,)))

    assert (scores.exact, scores.detection, scores.tagged, scores.f05) == (1, 1, 1, 1)


def test_a_wrong_replacement_in_the_right_place_is_detected_but_not_exact():
    scores = score(GOED, Answer("He goes to school.", (Reason.SVA_SG,)))

    assert (scores.exact, scores.detection, scores.precision, scores.recall) == (0, 1, 0, 0)


def test_a_change_in_another_place_is_no_detection():
    scores = score(GOED, Answer("He goed to schools.", (Reason.SVA_SG,)))

    assert scores.detection == 0


def test_an_insertion_beside_the_mistake_is_a_detection():
    singing = Item("Birds singing outside", "Birds are singing outside")

    assert score(singing, Answer("Birds were singing outside")).detection == 1


def test_the_right_text_for_the_wrong_reason_is_not_tagged():
    scores = score(GOED, Answer(GOED.corrected, (Reason.TENSE_PAST,)))

    assert (scores.exact, scores.tagged) == (1, 0)


def test_any_change_of_a_clean_sentence_is_a_false_positive():
    scores = score(CLEAN, Answer(CLEAN.sentence), Answer("He goes to school."), Answer(CLEAN.sentence))

    assert (scores.num_clean, scores.num_false_positives, scores.num_wrong) == (3, 1, 0)


def test_f05_weighs_precision_more_than_recall():
    two = Item("He goed home and eated it", "He went home and ate it")

    cautious = score(two, Answer("He went home and eated it"))
    eager = score(GOED, Answer("He went to schools."))

    assert cautious.precision == 1 and cautious.recall == 0.5
    assert eager.precision == 0.5 and eager.recall == 1
    assert cautious.f05 == pytest.approx(5 / 6)
    assert eager.f05 == pytest.approx(5 / 9)


def test_each_reason_of_an_item_counts_once():
    both = Item("a", "b", (Reason.BASE_TO, Reason.BASE_TO, Reason.SVA_SG))

    scores = score(both, Answer("b"))

    assert scores.reason_totals == {Reason.BASE_TO: 1, Reason.SVA_SG: 1}
    assert scores.reason_exact == {Reason.BASE_TO: 1, Reason.SVA_SG: 1}


def test_edits_are_words_and_marks_that_differ():
    edits = find_edits("Let Ann to rest, now", "Let Ann rest, now")

    assert [(edit.start, edit.end, edit.texts) for edit in edits] == [(2, 3, ())]


def test_items_survive_a_round_trip_through_the_file(tmp_path):
    items = [GOED, CLEAN, Item("caf\u00e9\u2028x", "caf\u00e9 y")]
    write_items(items, tmp_path / "items.jsonl")

    assert read_items(tmp_path / "items.jsonl") == items


@pytest.mark.parametrize("line", ["nonsense", "[]", '{"sentence": "a"}', '{"sentence": 1, "corrected": "a"}',
                                  '{"sentence": "a", "corrected": "b", "reasons": ["bad"]}'])  # fmt: skip
def test_a_line_that_is_no_item_is_named(tmp_path, line):
    path = tmp_path / "items.jsonl"
    path.write_text('{"sentence": "a", "corrected": "b"}\n' + line + "\n")

    with pytest.raises(ValueError, match="items.jsonl, line 2"):
        read_items(path)


def test_evaluate_asks_for_all_sentences_at_once_and_the_table_has_counts(tmp_path):
    write_items([GOED, CLEAN], tmp_path / "items.jsonl")

    scores = evaluate(tmp_path / "items.jsonl", lambda sentences: [Answer("He went to school.") for _ in sentences])

    assert "exact match            100.0%  1 of 1 wrong sentences" in format_table(scores)
    assert "false positives          0.0%  0 of 1 clean sentences" in format_table(scores)
    assert "  irregular_past           100.0%  1 of 1" in format_table(scores)


def test_nothing_to_count_is_no_error():
    assert (Scores().exact, Scores().f05, Scores().false_positives) == (0, 0, 0)


def test_a_file_without_any_item_is_refused_and_not_scored_0(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text("\n\n")

    with pytest.raises(ValueError, match="items.jsonl holds no sentence"):
        evaluate(path, lambda sentences: [])
