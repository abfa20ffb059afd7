"""Chooses how certain an edit must be, for each reason apart: `miniserve eval --calibrate`.

One threshold for all makes agreement pay for participles: a reason that is often wrong on right text needs a high one,
one that is hardly ever wrong a low one. Every reason gives up corrections for silence at the same price. The price is
the lowest at which few enough right sentences are changed. What a long sentence asks for besides is given.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from math import log
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from api.grammar.edit_script import REASONS, TAG_IDS
from api.grammar.reasons import Reason
from api.grammar.tokenizer import Tokenizer
from ops.evaluation.scores import Result
from scheduler.errors import SentenceTooLong
from scheduler.messages import CERTAINTY_STEPS_PER_LOGIT, MOST_CERTAINTY
from worker.model.decoding import LENGTH_SHARE
from worker.model.weights import DEFAULT_PATH, Weights, digest, fingerprint, load_weights

NUM_STEPS = MOST_CERTAINTY + 1
LONG_BIAS = 2.5  # 0 to 2.5 were tried: docs/model-log.md
SERVED_CERTAINTY = 3.0  # the number that --strictness is compared with: its default
_SHARED = 1000.0  # sentences worth of what all reasons have in common, added to what is known of one: fewer chose worse
_PRICES = tuple(1.1**power for power in range(-40, 60))  # exact corrections that a right sentence is worth


def uncalibrated(weights: Weights) -> Weights:
    """The weights that change all they would change, and say how certain they are."""
    tags = {str(tag): 0.0 for tag in TAG_IDS.values()}
    return replace(weights, config=replace(weights.config, eos_bias=0.0, reason_biases=tags, long_bias=0.0))


@dataclass(slots=True)
class Tally:
    """By reason of a sentence's first edit and its certainty: (reasons, steps)."""

    right: np.ndarray = field(default_factory=lambda: np.zeros((len(REASONS), NUM_STEPS)))  # exact corrections
    false: np.ndarray = field(default_factory=lambda: np.zeros((len(REASONS), NUM_STEPS)))  # changed right sentences
    num_clean: int = 0


def calibrate(results: Iterable[Result], most_changed: float, path: Path, of: Path = DEFAULT_PATH) -> dict[str, float]:
    """Choose by what the uncalibrated model made of right and wrong sentences, and write the weights `of` a file.

    Returns the certainty asked of each reason, in log-odds of the edit against none.
    """
    asked = thresholds(tally(results), most_changed)
    write_calibrated(asked, path, of)
    return {reason.value: certainty for reason, certainty in asked.items()}


def tally(results: Iterable[Result]) -> Tally:
    """Count what the model, asked for no certainty, made of each sentence."""
    counts = Tally()
    for result in results:
        counts.num_clean += result.item.is_clean
        if result.answer.edits and (result.item.is_clean or not result.is_miss):
            first = result.answer.edits[0]
            steps = max(0, certainty_steps(first.confidence) - _more_steps(result))
            (counts.false if result.item.is_clean else counts.right)[REASONS.index(first.reason), steps] += 1
    return counts


def certainty_steps(confidence: float) -> int:
    """The steps that a confidence was made of."""
    return round(CERTAINTY_STEPS_PER_LOGIT * log(confidence / (1 - confidence)))


def _more_steps(result: Result) -> int:
    """What the length of its sentence asks for besides."""
    try:
        share = float(LENGTH_SHARE[len(_tokenizer().encode(result.item.sentence).token_ids)])
    except SentenceTooLong:  # a text of several sentences
        share = 1.0
    return round(share * LONG_BIAS * CERTAINTY_STEPS_PER_LOGIT)


@cache
def _tokenizer() -> Tokenizer:
    return Tokenizer.load()


def thresholds(counts: Tally, most_changed: float) -> dict[Reason, float]:
    """The certainty to ask of each reason, so that at most this share of the right sentences is changed."""
    num_all = max(1.0, counts.right.sum() + counts.false.sum())
    right, false = _kept_at(counts.right, num_all), _kept_at(counts.false, num_all)
    for price in _PRICES:
        steps = (right - price * false).argmax(axis=1)
        num_changed = sum(counts.false[row, step:].sum() for row, step in enumerate(steps))
        if num_changed <= most_changed * counts.num_clean:
            break
    return {reason: float(step) / CERTAINTY_STEPS_PER_LOGIT for reason, step in zip(REASONS, steps, strict=True)}


def _kept_at(counts: np.ndarray, num_all: float) -> np.ndarray:
    """How many of a reason are kept at each threshold; rare reasons lean on the others."""
    common = counts.sum(axis=0) / num_all
    return np.cumsum((counts + _SHARED * common)[:, ::-1], axis=1)[:, ::-1]


def write_calibrated(asked: dict[Reason, float], path: Path, of: Path = DEFAULT_PATH) -> None:
    """Write weights, those that ship where no others are given, with these thresholds."""
    config = load_weights(of).config
    biases = {str(TAG_IDS[reason]): certainty - SERVED_CERTAINTY for reason, certainty in asked.items()}
    config = replace(config, eos_bias=SERVED_CERTAINTY, reason_biases=biases, long_bias=LONG_BIAS)
    with safe_open(of, framework="numpy") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    metadata |= {"config": json.dumps(asdict(config)), "fingerprint": fingerprint(config, metadata["tokenizer"])}
    save_file(tensors, path, metadata=metadata)
    path.chmod(0o644)
    path.with_suffix(".sha256").write_text(f"{digest(path)}  {path.name}\n")
