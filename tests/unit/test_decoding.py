"""The decoder writes edits in order: none begins at a word that the one before it has taken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from api.grammar import edit_script
from scheduler.messages import EOS_ID, ID_MASK, X2_ID
from tests.unit.small_model import CONFIG
from worker.model.decoding import GreedyDecoder

TAG, WORD = 68, 90
BIASED = replace(CONFIG, reason_biases={str(TAG): 0.0})


def written(decoder: GreedyDecoder, slot: int, wanted: list[dict[int, float]]) -> list[int]:
    """What is written where the steps give these tokens more than all others."""
    ids: list[int] = []
    for step, likely in enumerate(wanted):
        logits = np.full((1, CONFIG.vocab_size), -50.0, dtype=np.float32)
        logits[0, list(likely)] = list(likely.values())
        last = np.array([ids[-1] & ID_MASK if ids else X2_ID])
        prompt_lengths = np.array([] if step else [7], dtype=np.intp)
        ids.append(int(decoder.next_ids(logits, np.array([slot]), last, prompt_lengths)[0]) & ID_MASK)
    return ids


def place(number: int) -> int:
    return X2_ID + 1 + number


@pytest.mark.parametrize(
    ("first", "likely", "chosen"),
    [
        ([place(2)], {place(2): 9.0, EOS_ID: 1.0}, EOS_ID),
        ([place(2)], {place(1): 9.0, place(5): 4.0, EOS_ID: 1.0}, place(5)),
        ([place(2), X2_ID], {place(3): 9.0, EOS_ID: 1.0}, EOS_ID),
        ([place(2), X2_ID], {place(4): 9.0, EOS_ID: 1.0}, place(4)),
        ([place(2)], {place(3): 9.0, EOS_ID: 1.0}, place(3)),
    ],
)
def test_an_edit_begins_behind_the_last_one(first: list[int], likely: dict[int, float], chosen: int) -> None:
    steps = [{token: 9.0} for token in (*first, WORD, TAG)]

    assert written(GreedyDecoder(BIASED, 8), 3, [*steps, likely])[-1] == chosen


def test_a_slot_forgets_which_words_were_taken() -> None:
    decoder = GreedyDecoder(BIASED, 8)
    one_edit = [{place(5): 9.0}, {WORD: 9.0}, {TAG: 9.0}, {EOS_ID: 9.0}]
    written(decoder, 3, one_edit)

    assert written(decoder, 3, [{place(0): 9.0}])[0] == place(0)


def test_sequences_side_by_side_keep_to_their_own_order() -> None:
    decoder, rng = GreedyDecoder(BIASED, 8), np.random.default_rng(5)
    slots, last, free = np.array([6, 1, 4]), np.full(3, EOS_ID), np.zeros(3, dtype=int)
    for number in range(200):
        prompt_lengths = np.full(0 if number % 8 else 3, 7)
        free = free if number % 8 else np.zeros(3, dtype=int)
        for likely in (slice(place(0), place(64)), X2_ID, WORD, TAG):
            logits = rng.normal(size=(3, CONFIG.vocab_size)).astype(np.float32)
            logits[:, likely] += 90.0
            logits[:, EOS_ID] += 45.0
            last = decoder.next_ids(logits, slots, last, prompt_lengths) & ID_MASK
            prompt_lengths = prompt_lengths[:0]
            if isinstance(likely, slice):
                begins = (place(0) <= last) & (last < place(64))
                assert (last[begins] - place(0) >= free[begins]).all()
                free = np.where(begins, last - place(0) + 2, 0)


def test_the_worker_and_the_parser_have_the_same_special_tokens() -> None:
    assert (EOS_ID, X2_ID) == (edit_script.EOS_ID, edit_script.X2_ID)
    assert X2_ID + 1 == edit_script.FIRST_POSITION_ID
