"""Chooses the bias of <eos>: how sure the model must be before it changes a sentence.

One decoding of the held-out set gives every row, because a bias only decides between the best change and none.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path

from api.grammar.tokenizer import Tokenizer
from ops.training.evaluation.heldout import HeldOut, HeldOutOptions, Score
from ops.training.model.decoding import decode
from ops.training.model.twin import Twin

BIASES = tuple(step / 4 for step in range(-4, 33))  # -1 to 8
TUNING_ITEMS = 1500  # wrong sentences, and as many clean ones
_MOST_FALSE_POSITIVES = 0.008
_MOST_AS_WRITTEN = 0.01
_MOST_TEMPTING = 0.02
_LEAST_EXACT = 0.85


def tuning_set(corpora: Sequence[Path], tokenizer: Tokenizer) -> HeldOut:
    """The held-out examples of a corpus that the bias is chosen by."""
    return HeldOut.make(corpora, tokenizer, HeldOutOptions(TUNING_ITEMS, TUNING_ITEMS, seed=8))


def tuned_bias(twin: Twin, held_out: HeldOut, corpora: Sequence[Path], out: Path) -> float:
    """Choose the bias, and write what it was chosen by into the folder: `eos_bias.csv`, `eos_bias-written.csv`."""
    scores, by_hand = trade_off(twin, held_out), trade_off(twin, HeldOut.written(held_out.tokenizer))
    write_trade_off(scores, out / "eos_bias.csv")
    write_trade_off(by_hand, out / "eos_bias-written.csv")
    return choose_bias(scores, trade_off(twin, HeldOut.as_written(corpora, held_out.tokenizer)), by_hand)


def trade_off(twin: Twin, held_out: HeldOut, device: str = "cpu") -> list[Score]:
    """The scores at every bias."""
    decoded = decode(twin, held_out.prompts, device)
    return [held_out.score_at(decoded, bias) for bias in BIASES]


def choose_bias(scores: Sequence[Score], as_written: Sequence[Score], by_hand: Sequence[Score]) -> float:
    """The smallest bias of 0 or more with few enough false positives while most mistakes are still mended.

    `as_written`: scores of plain right text, longer and more varied than the generator's; `by_hand`: of the sentences
    written for the training and kept from it, of which the right ones are made to tempt. Each has a limit of its own.
    Where no bias gives all, the one with the best exact match less three times the false positives: a right sentence
    made wrong costs a learner more than a mistake that stays.
    """
    for score, plain, tempting in zip(scores, as_written, by_hand, strict=True):
        is_silent = (
            score.false_positives <= _MOST_FALSE_POSITIVES
            and plain.false_positives <= _MOST_AS_WRITTEN
            and tempting.false_positives <= _MOST_TEMPTING
        )
        if score.eos_bias >= 0 and is_silent and score.exact >= _LEAST_EXACT:
            return score.eos_bias
    return max(scores, key=lambda score: score.exact - 3 * score.false_positives).eos_bias


def write_trade_off(scores: Sequence[Score], path: Path) -> None:
    """The table as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([item.name for item in fields(Score)])
        writer.writerows([f"{value:.4f}" for value in astuple(score)] for score in scores)
