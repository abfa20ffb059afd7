"""The decoder writes edits in order, and each as sure as its reason asks; the tag carries how sure it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scheduler.messages import EOS_ID, ID_BITS, ID_MASK, WITHDRAWN_ID, X2_ID
from tests.unit.small_model import CONFIG
from worker.model.decoding import GreedyDecoder

WORD, SURE_TAG, DOUBTED_TAG = 90, 70, 71
BIASED = replace(CONFIG, eos_bias=2.0, reason_biases={str(SURE_TAG): -1.0, str(DOUBTED_TAG): 2.0})
UNBIASED = replace(CONFIG, reason_biases={str(SURE_TAG): 0.0})


def place(number: int) -> int:
    return X2_ID + 1 + number


def written(
    decoder: GreedyDecoder, *steps: int | tuple[int, float] | dict[int, float], num_prompt: int = 7
) -> list[int]:
    """What is written where each step gives tokens these logits, and <eos> 0; without a logit one of 9."""
    ids: list[int] = []
    for number, step in enumerate(steps):
        likely = step if isinstance(step, dict) else dict([step if isinstance(step, tuple) else (step, 9.0)])
        logits = np.full((1, CONFIG.vocab_size), -50.0, dtype=np.float32)
        for token, logit in ({EOS_ID: 0.0} | likely).items():
            logits[0, token] = logit
        last = np.array([ids[-1] & ID_MASK if ids else X2_ID])
        prompt_lengths = np.array([] if number else [num_prompt], dtype=np.intp)
        ids.append(int(decoder.next_ids(logits, np.array([3]), last, prompt_lengths)[0]))
        if ids[-1] & ID_MASK == EOS_ID:
            break
    return ids


def edit(margin: float, tag: int = SURE_TAG) -> list[int | tuple[int, float]]:
    """An edit whose place is so much likelier than <eos>."""
    return [(place(1), margin), WORD, tag]


@pytest.mark.parametrize(
    ("first", "likely", "chosen"),
    [
        ([place(2)], {place(2): 9.0}, EOS_ID),
        ([place(2)], {place(1): 9.0, place(5): 4.0}, place(5)),
        ([place(2), X2_ID], {place(3): 9.0}, EOS_ID),
        ([place(2), X2_ID], {place(4): 9.0}, place(4)),
        ([place(2)], {place(3): 9.0}, place(3)),
    ],
)
def test_an_edit_begins_behind_the_last_one(first: list[int], likely: dict[int, float], chosen: int) -> None:
    assert written(GreedyDecoder(UNBIASED, 8), *first, WORD, SURE_TAG, likely)[-1] == chosen


@pytest.mark.parametrize(("margin", "steps"), [(1.2, 2), (4.0, 8), (30.0, 15)])
def test_the_tag_says_how_much_likelier_its_edit_was_than_none(margin: float, steps: int) -> None:
    ids = written(GreedyDecoder(BIASED, 8), *edit(margin), EOS_ID)

    assert ids == [place(1), WORD, SURE_TAG | steps << ID_BITS, EOS_ID]


@pytest.mark.parametrize(
    ("config", "tag", "last"),
    [
        (BIASED, SURE_TAG, EOS_ID),
        (BIASED, DOUBTED_TAG, WITHDRAWN_ID),  # each reason asks for its own certainty
        (replace(BIASED, eos_bias=0.5), DOUBTED_TAG, EOS_ID),  # strictness moves what every reason asks
    ],
)
def test_each_reason_asks_for_its_own_certainty(config: object, tag: int, last: int) -> None:
    ids = written(GreedyDecoder(config, 8), *edit(3.0, tag), EOS_ID)

    assert ids[-1] == last and (len(ids) == 4) == (last == EOS_ID)


def test_a_strict_decoder_writes_no_edit_that_is_hardly_likelier_than_none() -> None:
    assert written(GreedyDecoder(replace(BIASED, eos_bias=9.0), 8), *edit(3.0), EOS_ID) == [EOS_ID]


@pytest.mark.parametrize(("num_prompt", "asked"), [(5, 1.0), (12, 1.0), (16, 2.0), (20, 3.0), (99, 3.0)])
def test_a_long_sentence_asks_for_more_than_a_short_one(num_prompt: int, asked: float) -> None:
    decoder = GreedyDecoder(replace(BIASED, long_bias=2.0), 8)

    less, more = (
        written(decoder, *edit(margin), EOS_ID, num_prompt=num_prompt) for margin in (asked - 0.1, asked + 0.1)
    )
    assert len(less) < len(more) == 4


def test_behind_a_certain_edit_the_next_one_is_free_but_says_its_own_certainty() -> None:
    ids = written(GreedyDecoder(BIASED, 8), *edit(6.0), (place(3), 1.0), WORD, DOUBTED_TAG, EOS_ID)

    assert [ids[2] >> ID_BITS, ids[5] >> ID_BITS] == [12, 2]
    assert ids[-1] == EOS_ID


def test_a_slot_forgets_the_sequence_before() -> None:
    decoder = GreedyDecoder(BIASED, 8)
    written(decoder, (place(5), 6.0), WORD, SURE_TAG, EOS_ID)

    assert written(decoder, place(0))[0] == place(0)
    written(decoder, *edit(6.0), EOS_ID)
    assert written(decoder, *edit(3.0, DOUBTED_TAG), EOS_ID)[-1] == WITHDRAWN_ID


def test_without_biases_nothing_is_marked_or_withdrawn() -> None:
    assert written(GreedyDecoder(CONFIG, 8), *edit(0.1), EOS_ID) == [place(1), WORD, SURE_TAG, EOS_ID]


def test_sequences_side_by_side_keep_to_their_own_order() -> None:
    decoder, rng = GreedyDecoder(UNBIASED, 8), np.random.default_rng(5)
    slots, last, free = np.array([6, 1, 4]), np.full(3, EOS_ID), np.zeros(3, dtype=int)
    for number in range(200):
        prompt_lengths = np.full(0 if number % 8 else 3, 7)
        free = free if number % 8 else np.zeros(3, dtype=int)
        for likely in (slice(place(0), place(64)), X2_ID, WORD, SURE_TAG):
            logits = rng.normal(size=(3, CONFIG.vocab_size)).astype(np.float32)
            logits[:, likely] += 90.0
            logits[:, EOS_ID] += 45.0
            last = decoder.next_ids(logits, slots, last, prompt_lengths) & ID_MASK
            prompt_lengths = prompt_lengths[:0]
            if isinstance(likely, slice):
                begins = (place(0) <= last) & (last < place(64))
                assert (last[begins] - place(0) >= free[begins]).all()
                free = np.where(begins, last - place(0) + 2, 0)
