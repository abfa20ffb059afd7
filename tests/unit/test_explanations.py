"""One real sentence for every reason, and the wording where a fact is missing."""

from __future__ import annotations

import pytest

from api.grammar.edit_script import ScriptEdit
from api.grammar.pipeline import TextPipeline
from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
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


@pytest.mark.parametrize(
    ("sentence", "edit", "expected"),
    [
        ("He goed", ScriptEdit(1, 1, "gone", Reason.PAST_IRREG), "The past tense needed here is 'gone', not 'goed'."),
        ("He taked", ScriptEdit(1, 1, "took", R.PART_IRREG), "The past participle needed here is 'took', not 'taked'."),
        ("He pland", ScriptEdit(1, 1, "planned", Reason.PAST_IRREG), "The past tense of 'plan' is 'planned'."),
    ],
)  # fmt: skip
def test_a_claim_that_the_table_does_not_bear_out_is_not_made(sentence: str, edit: ScriptEdit, expected: str) -> None:
    assert explanation_of(sentence, edit) == expected


def test_an_explanation_quotes_the_words_before_it_as_they_are_mended() -> None:
    edits = [ScriptEdit(1, 1, "made", R.PAST_IRREG), ScriptEdit(3, 1, "go", R.BARE_INF)]

    correction = PIPELINE.conclude(PIPELINE.prepare("She maked him went"), TOKENIZER.encode_output(edits))

    assert correction.edits[1].explanation == "After 'made' the verb stays in its base form: 'go', not 'went'."
