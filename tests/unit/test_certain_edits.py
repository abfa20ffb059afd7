"""What a stream sends of an unfinished output never has to be taken back, and reads as one line."""

from __future__ import annotations

import json

import pytest

from api.http.lines import event_of
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


@pytest.mark.parametrize("end_of_line", ["\u2028", "\u2029", "\u0085"])
def test_the_data_of_an_event_is_one_line_to_every_reader_of_lines(end_of_line: str) -> None:
    told = {"corrected": f"He went.{end_of_line}She left."}

    name, data, blank = event_of("done", json.dumps(told, ensure_ascii=False)).decode().splitlines()

    assert (name, blank) == ("event: done", "")
    assert json.loads(data.removeprefix("data: ")) == told
