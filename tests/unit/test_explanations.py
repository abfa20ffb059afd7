"""One real sentence for every reason, and the wording where a fact is missing."""

from __future__ import annotations

import pytest

from api.grammar.edit_script import ScriptEdit
from api.grammar.pipeline import TextPipeline
from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
from tests import golden_explanations
from tests.fake_tokenizer import FakeTokenizer
from tests.tables import table

ROWS = table("explanations")
R = Reason
TOKENIZER = FakeTokenizer()
PIPELINE = TextPipeline(TOKENIZER, VerbTable.load())


def explanation_of(sentence: str, edit: ScriptEdit) -> str:
    return PIPELINE.conclude(PIPELINE.prepare(sentence), TOKENIZER.encode_output([edit])).explanation


@pytest.mark.parametrize(
    ("sentence", "word", "num_words", "replacement", "reason", "expected"), ROWS, ids=[" ".join(r[:1]) for r in ROWS]
)
def test_each_reason_is_told_in_one_plain_sentence(
    sentence: str, word: str, num_words: str, replacement: str, reason: str, expected: str
) -> None:
    edit = ScriptEdit(int(word), int(num_words), replacement, Reason[reason])

    assert explanation_of(sentence, edit) == expected


def test_every_reason_has_a_sentence_here() -> None:
    assert {row[4] for row in ROWS} == {reason.name for reason in Reason}


@pytest.mark.parametrize("reason", list(Reason))
def test_no_template_fails_where_the_facts_do_not_fit_the_reason(reason: Reason) -> None:
    for replacement in ("went", "are going", "gone", "to go", "will go"):
        text = explanation_of("GOED", ScriptEdit(0, 1, replacement, reason))

        assert text.endswith(".")
        assert "None" not in text


def test_a_claim_that_the_table_does_not_bear_out_is_not_made() -> None:
    edit = ScriptEdit(1, 1, "planned", Reason.PAST_IRREG)

    assert explanation_of("He pland", edit) == "The past tense of 'plan' is 'planned'."


def test_an_explanation_quotes_the_words_before_it_as_they_are_mended() -> None:
    edits = [ScriptEdit(1, 1, "made", R.PAST_IRREG), ScriptEdit(3, 1, "go", R.BARE_INF)]

    correction = PIPELINE.conclude(PIPELINE.prepare("She maked him went"), TOKENIZER.encode_output(edits))

    assert correction.edits[1].explanation == "After 'made' the verb stays in its base form: 'go', not 'went'."


def test_the_explanations_of_real_sentences_are_those_that_were_read() -> None:
    """A change is written by `python -m tests.golden_explanations` and read in the diff."""
    assert golden_explanations.PATH.read_text(encoding="utf-8") == golden_explanations.written()


@pytest.mark.parametrize(
    ("sentence", "edits", "expected"),
    [
        (
            "He is always behave",
            [ScriptEdit(1, 2, "always", R.EXTRA_BE), ScriptEdit(3, 1, "behaves", R.EXTRA_BE)],
            ["'behave' is a verb: 'he always behaves', without 'is'."],
        ),
        (
            "I am usually getting up",
            [ScriptEdit(1, 2, "usually", R.HABIT), ScriptEdit(3, 1, "get", R.HABIT)],
            ["A habit ('usually') takes the simple tense: 'usually get', not 'am usually getting'."],
        ),
        (
            "He is believes it, and is believes her",
            [ScriptEdit(1, 2, "believes", R.EXTRA_BE), ScriptEdit(5, 2, "believes", R.EXTRA_BE)],
            ["'believe' is a verb: 'he believes', without 'is'.", "'believe' is a verb: 'believes', without 'is'."],
        ),
        (
            "I am not go and she is not goes",
            [ScriptEdit(1, 2, "do not", R.DO_SUPPORT), ScriptEdit(6, 2, "does not", R.DO_SUPPORT)],
            ["'go' is a verb here, so the negative is made with 'do', not with 'be': 'do not', not 'am not'.",
             "'goes' is a verb here, so the negative is made with 'do', not with 'be': 'does not', not 'is not'."],
        ),
    ],
)  # fmt: skip
def test_two_edits_of_one_mistake_are_explained_together(
    sentence: str, edits: list[ScriptEdit], expected: list[str]
) -> None:
    correction = PIPELINE.conclude(PIPELINE.prepare(sentence), TOKENIZER.encode_output(edits))

    assert [edit.explanation for edit in correction.edits] == expected


def test_no_explanation_quotes_a_word_that_is_gone() -> None:
    edits = [ScriptEdit(1, 2, "is", R.EXTRA_BE), ScriptEdit(3, 1, "going", R.BE_ING)]

    correction = PIPELINE.conclude(PIPELINE.prepare("He is be go home"), TOKENIZER.encode_output(edits))

    assert correction.edits[1].explanation == (
        "The progressive with 'is' needs the -ing form of 'go': 'going', not 'go'."
    )


@pytest.mark.parametrize("title", ["Mr.", "Dr.", "Mrs.", "St."])
def test_a_subject_is_named_with_its_title(title: str) -> None:
    text = explanation_of(f"{title} Smith have a dog", ScriptEdit(2, 1, "has", R.SVA_SG))

    assert text == f"The subject '{title} Smith' is singular, so the verb is 'has', not 'have'."
