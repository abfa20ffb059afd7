"""The decoder writes edits in order; the tag of each carries how often such edits are right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scheduler.messages import EOS_ID, ID_BITS, ID_MASK, X2_ID
from tests.unit.small_model import CONFIG
from worker.model.decoding import GreedyDecoder

WORD, SURE_TAG, DOUBTED_TAG = 90, 70, 71
BIASED = replace(CONFIG, calibration={str(SURE_TAG): (0.2, 0.5), str(DOUBTED_TAG): (-3.0, 0.5)})


def place(number: int) -> int:
    return X2_ID + 1 + number


def written(
    decoder: GreedyDecoder, *steps: int | tuple[int, float] | dict[int, float], num_prompt: int = 7, num_words: int = 6
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
        words = [num_words] * len(prompt_lengths)
        ids.append(int(decoder.next_ids(logits, np.array([3]), last, prompt_lengths, words)[0]))
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
    assert written(GreedyDecoder(BIASED, 8), *first, WORD, SURE_TAG, likely)[-1] == chosen


@pytest.mark.parametrize(
    ("num_words", "steps", "chosen"),
    [
        (3, [{place(3): 9.0}], EOS_ID),
        (3, [{place(3): 9.0, place(2): 4.0}], place(2)),
        (3, [place(0), WORD, SURE_TAG, {place(3): 9.0, place(1): 4.0}], place(1)),
        (4, [place(3), WORD, SURE_TAG, {place(4): 9.0}], EOS_ID),
        (4, [place(2), {X2_ID: 9.0, WORD: 4.0}], X2_ID),
        (3, [place(2), {X2_ID: 9.0, WORD: 4.0}], WORD),  # of two words, and it is the last one
    ],
)
def test_an_edit_is_of_words_of_the_sentence(num_words: int, steps: list[int | dict[int, float]], chosen: int) -> None:
    assert written(GreedyDecoder(BIASED, 8), *steps, num_words=num_words)[-1] == chosen


@pytest.mark.parametrize(("margin", "step"), [(0.1, 8), (1.2, 9), (4.0, 11), (30.0, 14)])
def test_the_tag_says_how_often_edits_of_its_reason_and_certainty_are_right(margin: float, step: int) -> None:
    assert written(GreedyDecoder(BIASED, 8), *edit(margin), EOS_ID) == [
        place(1), WORD, SURE_TAG | step << ID_BITS, EOS_ID
    ]  # fmt: skip
    assert written(GreedyDecoder(BIASED, 8), *edit(margin, DOUBTED_TAG), EOS_ID)[2] >> ID_BITS < step


@pytest.mark.parametrize(("num_prompt", "step"), [(5, 14), (12, 14), (16, 11), (20, 7), (99, 7)])
def test_an_edit_of_a_long_sentence_is_right_more_seldom(num_prompt: int, step: int) -> None:
    decoder = GreedyDecoder(replace(BIASED, long_calibration=(-3.0, -0.1)), 8)

    assert written(decoder, *edit(7.0), EOS_ID, num_prompt=num_prompt)[2] >> ID_BITS == step


def test_the_next_edit_says_its_own_certainty() -> None:
    ids = written(GreedyDecoder(BIASED, 8), *edit(3.0), (place(3), 1.0), WORD, SURE_TAG, EOS_ID)

    assert [ids[2] >> ID_BITS, ids[5] >> ID_BITS] == [10, 8]


def test_a_slot_forgets_the_sequence_before() -> None:
    decoder = GreedyDecoder(replace(BIASED, long_calibration=(-2.0, 0.0)), 8)
    written(decoder, (place(5), 6.0), WORD, SURE_TAG, EOS_ID, num_prompt=40)

    assert written(decoder, *edit(1.2), EOS_ID) == [place(1), WORD, SURE_TAG | 9 << ID_BITS, EOS_ID]


def test_weights_without_calibration_mark_nothing() -> None:
    assert written(GreedyDecoder(CONFIG, 8), *edit(0.1), EOS_ID) == [place(1), WORD, SURE_TAG, EOS_ID]


def test_sequences_side_by_side_keep_to_their_own_order() -> None:
    decoder, rng = GreedyDecoder(BIASED, 8), np.random.default_rng(5)
    slots, last, free = np.array([6, 1, 4]), np.full(3, EOS_ID), np.zeros(3, dtype=int)
    for number in range(200):
        prompt_lengths = np.full(0 if number % 8 else 3, 7)
        free = free if number % 8 else np.zeros(3, dtype=int)
        for likely in (slice(place(0), place(64)), X2_ID, WORD, SURE_TAG):
            logits = rng.normal(size=(3, CONFIG.vocab_size)).astype(np.float32)
            logits[:, likely] += 90.0
            logits[:, EOS_ID] += 45.0
            last = decoder.next_ids(logits, slots, last, prompt_lengths, [64] * len(prompt_lengths)) & ID_MASK
            prompt_lengths = prompt_lengths[:0]
            if isinstance(likely, slice):
                begins = (place(0) <= last) & (last < place(64))
                assert (last[begins] - place(0) >= free[begins]).all()
                free = np.where(begins, last - place(0) + 2, 0)
