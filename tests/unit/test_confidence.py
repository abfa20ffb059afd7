"""How sure the model is of an edit: chosen by the engine, carried by the tag, read and asked for by the API."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from api.grammar.edit_script import EOS_ID, FIRST_POSITION_ID, TAG_IDS, ScriptEdit, parse_script
from api.grammar.reasons import Reason
from api.kept.requests import body_of
from api.service.body import CorrectionBody
from api.service.corrector import note_content, options_of
from api.service.exchange import Exchange
from scheduler.messages import ID_BITS, ID_MASK, WITHDRAWN_ID
from tests.fake_tokenizer import FakeTokenizer
from tests.unit.small_model import CONFIG
from worker.model.decoding import GreedyDecoder

PLACE, WORD, SURE_TAG, DOUBTED_TAG = 5, 60, 70, 71
BIASED = replace(CONFIG, eos_bias=2.0, reason_biases={str(SURE_TAG): -1.0, str(DOUBTED_TAG): 2.0})


def decoded(decoder: GreedyDecoder, tokens: list[int], margins: list[float], num_prompt: int = 7) -> list[int]:
    """What becomes of a sequence whose most likely tokens are these, each so much likelier than <eos>."""
    ids: list[int] = []
    for step, (token, margin) in enumerate(zip(tokens, margins, strict=True)):
        logits = np.full((1, CONFIG.vocab_size), -50.0, dtype=np.float32)
        logits[0, EOS_ID] = 0.0
        logits[0, token] += 50.0 + margin
        last = np.array([ids[-1] & ID_MASK if ids else 0])
        prompt_lengths = np.array([] if step else [num_prompt], dtype=np.intp)
        ids.append(int(decoder.next_ids(logits, np.array([3]), last, prompt_lengths)[0]))
        if ids[-1] & ID_MASK == EOS_ID:
            break
    return ids


@pytest.mark.parametrize(("margin", "steps"), [(1.2, 2), (4.0, 8), (30.0, 15)])
def test_the_tag_says_how_much_likelier_its_edit_was_than_none(margin: float, steps: int) -> None:
    ids = decoded(GreedyDecoder(BIASED, 8), [PLACE, WORD, SURE_TAG, EOS_ID], [margin, 9.0, 9.0, 0.0])

    assert ids == [PLACE, WORD, SURE_TAG | steps << ID_BITS, EOS_ID]


def test_each_reason_asks_for_its_own_certainty() -> None:
    margins = [3.0, 9.0, 9.0, 0.0]

    assert decoded(GreedyDecoder(BIASED, 8), [PLACE, WORD, SURE_TAG, EOS_ID], margins)[-1] == EOS_ID
    assert decoded(GreedyDecoder(BIASED, 8), [PLACE, WORD, DOUBTED_TAG, EOS_ID], margins)[-1] == WITHDRAWN_ID


@pytest.mark.parametrize(("num_prompt", "asked"), [(5, 1.0), (12, 1.0), (16, 2.0), (20, 3.0), (99, 3.0)])
def test_a_long_sentence_asks_for_more_than_a_short_one(num_prompt: int, asked: float) -> None:
    decoder, tokens = GreedyDecoder(replace(BIASED, long_bias=2.0), 8), [PLACE, WORD, SURE_TAG, EOS_ID]

    kept = [len(decoded(decoder, tokens, [margin, 9.0, 9.0, 0.0], num_prompt)) for margin in (asked - 0.1, asked + 0.1)]
    assert kept[0] < kept[1] == len(tokens)


def test_strictness_moves_what_every_reason_asks() -> None:
    lenient = GreedyDecoder(replace(BIASED, eos_bias=0.5), 8)
    strict = GreedyDecoder(replace(BIASED, eos_bias=9.0), 8)

    assert len(decoded(lenient, [PLACE, WORD, DOUBTED_TAG, EOS_ID], [3.0, 9.0, 9.0, 0.0])) == 4
    assert decoded(strict, [PLACE, WORD, SURE_TAG, EOS_ID], [3.0, 9.0, 9.0, 0.0]) == [EOS_ID]


def test_behind_a_certain_edit_the_next_one_is_free_but_says_its_own_certainty() -> None:
    tokens = [PLACE, WORD, SURE_TAG, PLACE + 2, WORD, DOUBTED_TAG, EOS_ID]

    ids = decoded(GreedyDecoder(BIASED, 8), tokens, [6.0, 9.0, 9.0, 1.0, 9.0, 9.0, 0.0])

    assert [ids[2] >> ID_BITS, ids[5] >> ID_BITS] == [12, 2]
    assert ids[-1] == EOS_ID


def test_a_slot_forgets_the_sequence_before() -> None:
    decoder = GreedyDecoder(BIASED, 8)
    decoded(decoder, [PLACE, WORD, SURE_TAG, EOS_ID], [6.0, 9.0, 9.0, 0.0])

    assert decoded(decoder, [PLACE, WORD, DOUBTED_TAG, EOS_ID], [3.0, 9.0, 9.0, 0.0])[-1] == WITHDRAWN_ID


def test_without_biases_nothing_is_marked_or_withdrawn() -> None:
    tokens = [PLACE, WORD, SURE_TAG, EOS_ID]

    assert decoded(GreedyDecoder(CONFIG, 8), tokens, [0.1, 9.0, 9.0, 0.0]) == tokens


def test_the_parser_reads_a_confidence_between_one_half_and_one() -> None:
    tokenizer, tag = FakeTokenizer(), TAG_IDS[Reason.PAST_IRREG]
    start, text, _, end = tokenizer.encode_output([ScriptEdit(1, 1, "went", Reason.PAST_IRREG)])
    read = [
        parse_script(tokenizer, [start, text, tag | steps << ID_BITS, end], 4).edits[0].confidence
        for steps in range(16)
    ]

    assert read[0] == 1.0, "a worker that says nothing"
    assert read[1] > 0.5 and read[1:] == sorted(read[1:]) and read[15] < 1.0


def test_a_withdrawn_edit_is_no_fault_of_the_output() -> None:
    outcome = parse_script(FakeTokenizer(), [FIRST_POSITION_ID, 300, WITHDRAWN_ID], 4)

    assert (outcome.edits, outcome.num_dropped) == ((), 0)


def test_the_queue_keeps_what_a_request_asks_for_and_tells_two_apart() -> None:
    def record(min_confidence: float) -> tuple[str, str]:
        exchange, body = Exchange("id1", key="key"), CorrectionBody(sentence="He goed", min_confidence=min_confidence)
        note_content(exchange, {"sentence": body.sentence} | options_of(body))
        assert body_of(exchange, json.loads(exchange.document)) == body
        return exchange.document, exchange.digest

    assert record(0.0)[1] != record(0.9)[1]
    assert "min_confidence" not in record(0.0)[0], "a record stays as earlier versions write it"
