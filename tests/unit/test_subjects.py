"""The subject named in an explanation of agreement: near the verb, far from it, after it, or not at all."""

from __future__ import annotations

import pytest

from api.grammar.edit_script import ScriptEdit
from api.grammar.pipeline import TextPipeline
from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
from tests.fake_tokenizer import FakeTokenizer
from tests.tables import table

TOKENIZER = FakeTokenizer()
PIPELINE = TextPipeline(TOKENIZER, VerbTable.load())


def explain_marked(sentence: str, reason: str) -> str:
    before, pair, after = sentence.split("*")
    old, new = pair.split("/")
    draft = PIPELINE.prepare(before + old + after)
    word = draft.prompt.starts.index(len(before))
    edit = ScriptEdit(word, 1, new.lower(), Reason[reason])
    return PIPELINE.conclude(draft, TOKENIZER.encode_output([edit])).explanation


@pytest.mark.parametrize(("sentence", "reason", "beginning"), table("subjects_named"))
def test_the_subject_that_decides_is_named(sentence: str, reason: str, beginning: str) -> None:
    assert explain_marked(sentence, reason).startswith(beginning)


@pytest.mark.parametrize(("sentence", "reason"), table("subjects_unnamed"))
def test_where_the_subject_cannot_be_told_none_is_named(sentence: str, reason: str) -> None:
    explanation = explain_marked(sentence, reason)

    general = (
        "A plural subject, 'I' or 'you'",
        "The subject is singular, so the verb takes",
        "The form of 'be' that fits this subject",
    )
    assert explanation.startswith(general)
