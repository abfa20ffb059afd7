"""What becomes of the model's edits: tests/tables/corrections.txt holds each with its answer and explanation."""

from __future__ import annotations

import re

import pytest

from api.grammar.edit_script import ScriptEdit
from api.grammar.reasons import Reason
from tests.corrections import MARK, PIPELINE, TOKENIZER, blocks, conclude, parse, written

BLOCKS = [block for block in blocks() if not block[0].startswith("#")]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block[0])
def test_a_sentence_has_the_answer_that_was_read(block: list[str]) -> None:
    """A change is written by `python -m tests.corrections` and read in the diff."""
    sentence, edits = parse(block[0])

    made = conclude(sentence, *edits).edits

    assert written(block[0]) == block
    assert all(sentence[edit.start : edit.end] == edit.original for edit in made)


@pytest.mark.parametrize("marked", [block[0] for block in blocks() if len(MARK.findall(block[0])) > 1])
def test_edits_told_early_are_the_first_of_the_answer(marked: str) -> None:
    """A stream sends those of an unfinished output, and never has to take one back."""
    sentence, edits = parse(marked)
    draft, output = PIPELINE.prepare(sentence), TOKENIZER.encode_output(edits)

    told = [PIPELINE.certain_edits(draft, output[:num_tokens]) for num_tokens in range(len(output) + 1)]

    whole = PIPELINE.conclude(draft, output).edits
    assert all(whole[: len(early)] == early for early in told)
    assert sorted(map(len, told)) == [*map(len, told)]


def test_the_first_of_two_plain_edits_is_told_early() -> None:
    sentence, edits = parse("He {goed>went PAST_IRREG} there and they {was>were SVA_BE} late.")

    assert len(PIPELINE.certain_edits(PIPELINE.prepare(sentence), TOKENIZER.encode_output(edits))) == 1


def test_every_reason_has_a_sentence_here() -> None:
    explained = [mark for block in BLOCKS if len(block) > 1 for mark in MARK.findall(block[0])]

    assert {reason for *_, reason in explained} == {reason.name for reason in Reason}


@pytest.mark.parametrize("reason", list(Reason))
def test_no_template_fails_where_the_facts_do_not_fit_the_reason(reason: Reason) -> None:
    for replacement in ("went", "are going", "gone", "to go", "will go"):
        text = conclude("GOED", ScriptEdit(0, 1, replacement, reason)).explanation

        assert re.search(r"\.$", text) and "None" not in text
