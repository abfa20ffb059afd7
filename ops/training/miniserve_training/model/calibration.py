"""Learns from evaluations how often an edit is right: the last step of `miniserve-training train`.

Two logistic regressions. The first tells right edits from wrong ones by reason, certainty and length of the sentence,
in wrong sentences of all kinds and in natural text. Where a reason is rare its numbers stay near those of all: they
are drawn to them (ridge). The second makes of the first one's score how often such edits are right in natural text.
The weights keep both as one straight line for each reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from math import log
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from api.grammar.correction import Edit
from api.grammar.edit_script import REASONS, TAG_IDS
from api.grammar.tokenizer import Tokenizer
from ops.evaluation.scores import Result, is_right
from scheduler.errors import SentenceTooLong
from scheduler.messages import EVEN_ODDS, LOG_ODDS_PER_STEP
from worker.model.decoding import LONG_SHARE
from worker.model.weights import ModelConfig, Weights, digest, fingerprint, load_weights

_CERTAINTY_PER_STEP = 0.5  # of uncalibrated weights
_WEIGHT_RIGHT = 3.0  # of a right edit in natural text: there are few
_WEIGHT_OF_FILE = 1000.0  # of all right edits in a file of wrong sentences: long text must not outvote short text
_RIDGE_REASON = (0.5, 2.0)  # on constant and slope: from 0.3 to 5 and 1 to 20 none chose better
_RIDGE = 0.01
_Line = tuple[float, float]
_SHARED = 4  # constant and slope, and what a long sentence adds to them


def uncalibrated(weights: Weights) -> Weights:
    """The weights, with steps of confidence that say how certain each edit is."""
    per_certainty = LOG_ODDS_PER_STEP / _CERTAINTY_PER_STEP
    line = (1 - EVEN_ODDS) * LOG_ODDS_PER_STEP, per_certainty
    return replace(weights, config=_calibrated(weights.config, dict.fromkeys(TAG_IDS.values(), line), (0.0, 0.0)))


def _calibrated(config: ModelConfig, lines: dict[int, _Line], long: _Line) -> ModelConfig:
    return replace(config, calibration={str(tag): line for tag, line in lines.items()}, long_calibration=long)


@dataclass(slots=True)
class Samples:
    """Edits of uncalibrated weights: what is known of each (N, features), whether it is right, and what it counts."""

    features: np.ndarray
    evidence: np.ndarray  # log-odds that the API adds
    right: np.ndarray
    weights: np.ndarray


def samples_of(results: Iterable[Result], *, are_natural: bool) -> Samples:
    """Of wrong sentences that are not natural only the edits that mend them count: such sentences are no forecast."""
    rows, evidence, right = [], [], []
    for result in results:
        share = _long_share(result.item.sentence)
        for edit in result.answer.edits:
            if (is_good := is_right(result.item, result.answer, edit)) or are_natural:
                evidence.append(edit.evidence)
                rows.append(_features(edit, share))
                right.append(is_good)
    features = np.array(rows).reshape(len(rows), _SHARED + 2 * len(REASONS))
    weights = (
        np.where(right, _WEIGHT_RIGHT, 1.0) if are_natural else np.full(len(rows), _WEIGHT_OF_FILE / max(1, len(rows)))
    )
    return Samples(features, np.array(evidence), np.array(right, dtype=float), weights)


def _features(edit: Edit, share: float) -> np.ndarray:
    certainty = _certainty(edit.model_confidence)
    row = np.zeros(_SHARED + 2 * len(REASONS))
    row[:_SHARED] = 1.0, certainty, share, share * certainty
    row[_SHARED + 2 * REASONS.index(edit.reason) :][:2] = 1.0, certainty
    return row


def _certainty(confidence: float) -> float:
    """That of uncalibrated weights, by the rounded confidence."""
    return _CERTAINTY_PER_STEP * (round(log(confidence / (1 - confidence)) / LOG_ODDS_PER_STEP) + EVEN_ODDS - 1)


def _long_share(sentence: str) -> float:
    try:
        return float(LONG_SHARE[len(_tokenizer().encode(sentence).token_ids)])
    except SentenceTooLong:  # a text of several sentences
        return 1.0


@cache
def _tokenizer() -> Tokenizer:
    return Tokenizer.load()


def calibration_of(natural: Samples, wrong: Sequence[Samples]) -> tuple[dict[int, _Line], _Line]:
    """The line of each tag, (constant, slope), and what a long sentence adds. No slope falls."""
    all_of_them = (natural, *wrong)
    ridge = np.concatenate([np.full(_SHARED, _RIDGE), np.tile(_RIDGE_REASON, len(REASONS))])
    fitted = regression(
        np.concatenate([some.features for some in all_of_them]),
        np.concatenate([some.right for some in all_of_them]),
        np.concatenate([some.weights for some in all_of_them]),
        ridge,
        np.concatenate([some.evidence for some in all_of_them]),
    )
    scores = np.stack([np.ones(len(natural.right)), natural.features @ fitted], axis=1)
    once = np.ones(len(natural.right))
    constant, slope = regression(scores, natural.right, once, np.full(2, _RIDGE), natural.evidence)
    fitted *= max(slope, 0.0)
    fitted[0] += constant
    lines, long = fitted[:2] + fitted[_SHARED:].reshape(-1, 2), fitted[2:_SHARED]
    lines[:, 1] = np.maximum(lines[:, 1], max(0.0, -long[1]))
    tags = [TAG_IDS[reason] for reason in REASONS]
    return dict(zip(tags, map(tuple, lines.round(3).tolist()), strict=True)), tuple(long.round(3).tolist())


def regression(
    features: np.ndarray, right: np.ndarray, weights: np.ndarray, ridge: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """The coefficients of the log-odds, of which a part is known, by Newton's method."""
    found = np.zeros(features.shape[1])
    for _ in range(50):
        expected = 1 / (1 + np.exp(-features @ found - known))
        gradient = features.T @ (weights * (right - expected)) - ridge * found
        curvature = (features.T * (weights * expected * (1 - expected))) @ features + np.diag(ridge)
        step = np.linalg.solve(curvature, gradient)
        found += step
        if np.abs(step).max() < 1e-6:
            break
    return found


def calibrate(natural: Sequence[Result], wrong: Sequence[Sequence[Result]], path: Path, of: Path) -> ModelConfig:
    """Write the weights `of` a file with what the results say of them.

    `wrong`: of each file of wrong sentences; all count alike.
    """
    of_wrong = [samples_of(some, are_natural=False) for some in wrong]
    lines, long = calibration_of(samples_of(natural, are_natural=True), of_wrong)
    config = _calibrated(load_weights(of).config, lines, long)
    with safe_open(of, framework="numpy") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    metadata |= {"config": json.dumps(asdict(config)), "fingerprint": fingerprint(config, metadata["tokenizer"])}
    save_file(tensors, path, metadata=metadata)
    path.chmod(0o644)
    path.with_suffix(".sha256").write_text(f"{digest(path)}  {path.name}\n")
    return config
