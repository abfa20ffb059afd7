"""What a stream sends of an unfinished output never has to be taken back, and reads as one line."""

from __future__ import annotations

import json
import random

import pytest

from api.grammar.edit_script import EOS_ID, ScriptEdit
from api.grammar.reasons import Reason
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


@pytest.mark.parametrize("seed", range(40))
def test_no_output_however_odd_makes_an_early_edit_wrong(seed: int) -> None:
    rng = random.Random(seed)
    sentence = "Are you eat meat when he come and where the bank is that they was seen at?"
    words = ["Do", "is the", "does", "like", "eat", "bank", "were", "comes", "the bank", "is"]
    edits = []
    for word in sorted(rng.sample(range(16), 5)):
        edits.append(ScriptEdit(word, rng.choice((1, 1, 2)), rng.choice(words), rng.choice(list(Reason))))
    output = [token for token in TOKENIZER.encode_output(edits) if rng.random() < 0.97]

    assert_never_taken_back(sentence, (*output, EOS_ID))


def test_the_first_of_two_plain_edits_is_told_early() -> None:
    sentence, edits = parse("He {goed>went PAST_IRREG} there and they {was>were SVA_BE} late.")

    assert assert_never_taken_back(sentence, tuple(TOKENIZER.encode_output(edits))) == 1


@pytest.mark.parametrize("end_of_line", ["\u2028", "\u2029", "\u0085"])
def test_the_data_of_an_event_is_one_line_to_every_reader_of_lines(end_of_line: str) -> None:
    told = {"corrected": f"He went.{end_of_line}She left."}

    name, data, blank = event_of("done", json.dumps(told, ensure_ascii=False)).decode().splitlines()

    assert (name, blank) == ("event: done", "")
    assert json.loads(data.removeprefix("data: ")) == told
