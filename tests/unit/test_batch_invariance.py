"""A sentence gets the same tokens alone and in any batch, and under most kernels of BLAS the same bits."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from api.grammar.pipeline import TextPipeline
from ops.load import prompts
from scheduler.messages import MAX_OUTPUT_TOKENS, CorrectionRequest
from tests.unit.small_model import an_engine, answers
from worker.model.forward import MiniGPT
from worker.model.weights import load_weights

NUM_SENTENCES = 500
Outputs = dict[str, tuple[int, ...]]


def requests_of(number: int) -> list[CorrectionRequest]:
    pipeline = TextPipeline.load()
    return [
        CorrectionRequest(
            f"r{number}", prompt.token_ids, prompt.word_numbers, MAX_OUTPUT_TOKENS, pipeline.tokenizer_fingerprint
        )
        for number, text in enumerate(prompts.load(None, seed=9)[:number])
        for prompt in [pipeline.prepare_text(text).take()[0].prompt]
    ]


def run(requests: list[CorrectionRequest], max_slots: int) -> tuple[Outputs, dict[str, list[bytes]]]:
    """By request its tokens, and the bits of the logits of all its steps."""
    engine = an_engine(8192, max_slots, model=MiniGPT(load_weights(), 8192))
    bits, next_ids = defaultdict(list), engine._decoder.next_ids

    def recorded(logits: np.ndarray, slots: np.ndarray, *more: Any) -> np.ndarray:
        names = {sequence.slot: name for name, sequence in engine.policy.running.items()}
        for slot, row in zip(slots.tolist(), logits, strict=True):
            bits[names[slot]].append(row.tobytes())
        return next_ids(logits, slots, *more)

    engine._decoder.next_ids = recorded
    return {name: completion.output_ids for name, completion in answers(engine, *requests).items()}, bits


@pytest.fixture(scope="module")
def requests() -> list[CorrectionRequest]:
    return requests_of(NUM_SENTENCES)


@pytest.fixture(scope="module")
def alone(requests: list[CorrectionRequest]) -> Outputs:
    return run(requests, max_slots=1)[0]


@pytest.mark.parametrize("max_slots", [2, 7, 64])
def test_500_sentences_get_the_same_tokens_alone_and_among_mixed_neighbours(
    requests: list[CorrectionRequest], alone: Outputs, max_slots: int
) -> None:
    shuffled = random.Random(max_slots).sample(requests, len(requests))

    outputs, _ = run(shuffled, max_slots)

    assert outputs == alone
    assert len(set(alone.values())) > 20, "the sentences must not all end in the same answer"


def what_a_batch_changes() -> set[str]:
    requests = requests_of(100)
    (tokens, bits), (tokens_alone, bits_alone) = run(requests, max_slots=64), run(requests, max_slots=1)
    return {name for name, is_so in (("tokens", tokens != tokens_alone), ("bits", bits != bits_alone)) if is_so}


@pytest.mark.parametrize(("kernel", "most"), [("Haswell", {"bits"}), ("Sandybridge", set())])
def test_a_batch_changes_no_token_under_any_kernel_and_no_bit_under_most(kernel: str, most: set[str]) -> None:
    code = "from tests.unit.test_batch_invariance import *; print(*what_a_batch_changes())"
    env = os.environ | {"OPENBLAS_CORETYPE": kernel}

    found = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)

    assert (found.returncode, found.stderr) == (0, "")
    assert {*found.stdout.split()} <= most
