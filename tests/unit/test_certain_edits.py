"""What a stream sends of an unfinished output never has to be taken back."""

from __future__ import annotations

import pytest

from tests.corrections import MARK, PIPELINE, TOKENIZER, blocks, parse

OF_SEVERAL = [block[0] for block in blocks() if len(MARK.findall(block[0])) > 1]


def assert_never_taken_back(sentence: str, output: tuple[int, ...]) -> int:
    draft = PIPELINE.prepare(sentence)
    whole = PIPELINE.conclude(draft, output).edits
    before: tuple = ()
    for num_tokens in range(len(output) + 1):
        certain = PIPELINE.certain_edits(draft, output[:num_tokens])
        assert certain[: len(before)] == before
        assert whole[: len(certain)] == certain
        before = certain
    return len(before)


@pytest.mark.parametrize("marked", OF_SEVERAL)
def test_edits_told_early_are_the_first_of_the_answer(marked: str) -> None:
    sentence, edits = parse(marked)

    assert_never_taken_back(sentence, tuple(TOKENIZER.encode_output(edits)))


def test_the_first_of_two_plain_edits_is_told_early() -> None:
    sentence, edits = parse("He {goed>went PAST_IRREG} there and they {was>were SVA_BE} late.")

    assert assert_never_taken_back(sentence, tuple(TOKENIZER.encode_output(edits))) == 1
