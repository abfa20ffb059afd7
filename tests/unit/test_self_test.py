"""The test of doctor that says whether a batch changes its members' bits, and what the engine promises in any case."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import islice

import numpy as np
import pytest

from api.grammar.pipeline import TextPipeline
from ops.run import kernels
from ops.run.kernels import BatchInvariance, check_batch_invariance
from scheduler.messages import MAX_OUTPUT_TOKENS, CorrectionRequest
from tests.many_sentences import sentences
from tests.unit.small_model import an_engine, answers, random_weights
from worker.model import forward, memory
from worker.model.forward import MiniGPT
from worker.model.weights import Weights, load_weights

NUM_SENTENCES = 500


@pytest.fixture(scope="module")
def shipped() -> Weights:
    return load_weights()


@pytest.fixture(scope="module")
def requests() -> list[CorrectionRequest]:
    pipeline = TextPipeline.load()
    return [
        CorrectionRequest(
            f"r{number}", prompt.token_ids, prompt.word_numbers, MAX_OUTPUT_TOKENS, pipeline.tokenizer_fingerprint
        )
        for number, text in enumerate(islice(sentences(seed=9), NUM_SENTENCES))
        for prompt in [pipeline.prepare_text(text).sentences[0].prompt]
    ]


@pytest.fixture(scope="module")
def alone(shipped: Weights, requests: list[CorrectionRequest]) -> dict[str, tuple[int, ...]]:
    return outputs_of(shipped, requests, max_slots=1)


def outputs_of(weights: Weights, requests: list[CorrectionRequest], max_slots: int) -> dict[str, tuple[int, ...]]:
    engine = an_engine(8192, max_slots, model=MiniGPT(weights, 8192))
    return {name: completion.output_ids for name, completion in answers(engine, *requests).items()}


@pytest.mark.parametrize("max_slots", [2, 7, 64])
def test_500_sentences_get_the_same_tokens_alone_and_among_mixed_neighbours(
    shipped: Weights, requests: list[CorrectionRequest], alone: dict[str, tuple[int, ...]], max_slots: int
):
    shuffled = random.Random(max_slots).sample(requests, len(requests))

    outputs = outputs_of(shipped, shuffled, max_slots)

    assert outputs == alone
    assert len(set(alone.values())) > 20, "the sentences must not all end in the same answer"


@pytest.mark.parametrize(
    ("kernel", "worst"),
    [("Haswell", BatchInvariance.SAME_TOKENS), ("Sandybridge", BatchInvariance.BIT_IDENTICAL)],
)
def test_a_batch_changes_no_token_under_any_kernel_and_no_bit_under_most(kernel: str, worst: BatchInvariance):
    code = (
        "from ops.run.kernels import check_batch_invariance as check; "
        "from worker.model.weights import load_weights; print(check(load_weights()))"
    )

    found = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "OPENBLAS_CORETYPE": kernel}, capture_output=True, text=True
    )

    results = list(BatchInvariance)
    assert results.index(found.stdout.strip()) <= results.index(worst), found.stderr


def break_the_rows(monkeypatch: pytest.MonkeyPatch, by: float) -> None:
    """As if BLAS computed the rows of larger products otherwise."""
    multiply = forward.multiply

    def disturbed(some: np.ndarray, matrix: forward.BlockedMatrix, blocks: np.ndarray) -> None:
        multiply(some, matrix, blocks)
        if len(some) > 60:
            blocks *= np.float32(1 + by)

    monkeypatch.setattr(forward, "multiply", disturbed)


def test_other_last_bits_are_told_from_other_tokens(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kernels, "PROMPT_LENGTHS", (5, 6, 7, 8))
    weights = random_weights()
    if check_batch_invariance(weights) is BatchInvariance.BIT_IDENTICAL:
        break_the_rows(monkeypatch, by=1e-6)
        assert check_batch_invariance(weights) is BatchInvariance.SAME_TOKENS

    break_the_rows(monkeypatch, by=3.0)

    assert check_batch_invariance(weights) is BatchInvariance.TOKENS_DIFFER


def test_the_self_test_sees_other_bits_where_a_row_is_multiplied_alone(
    shipped: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MIN_ROWS", 1)

    assert check_batch_invariance(shipped) is not BatchInvariance.BIT_IDENTICAL
