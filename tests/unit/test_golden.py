"""The NumPy model against the PyTorch twin it was trained as, on a committed file: needs no PyTorch."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from worker.model.forward import MiniGPT, PackedBatch
from worker.model.weights import ModelConfig, fold

GOLDEN = Path(__file__).with_name("golden_logits.npz")


@pytest.fixture(scope="module")
def golden() -> dict[str, np.ndarray]:
    with np.load(GOLDEN) as file:
        return dict(file)


def model_of(golden: dict[str, np.ndarray]) -> MiniGPT:
    config = ModelConfig(**json.loads(str(golden["config"])), eos_bias=0.0)
    tensors = {name.removeprefix("weights/"): array for name, array in golden.items() if name.startswith("weights/")}
    return MiniGPT(fold(tensors, config, "golden"), kv_budget_tokens=64)


def prompt_batch(prompt: np.ndarray, words: np.ndarray) -> PackedBatch:
    rows, lengths = np.arange(len(prompt)), np.array([len(prompt)])
    return PackedBatch(prompt, rows, words, rows, lengths, rows[None], lengths)


def decode_batch(token: int, position: int) -> PackedBatch:
    at, none = np.array([position]), np.zeros(0, dtype=np.intp)
    return PackedBatch(np.array([token]), at, np.array([0]), at, none, np.arange(position + 1)[None], at + 1)


@pytest.mark.parametrize("case", range(3))
def test_numpy_logits_equal_those_of_the_training_code(golden, case):
    model = model_of(golden)
    prompt, output = golden[f"prompt_{case}"], golden[f"output_{case}"]

    logits = [model.forward(prompt_batch(prompt, golden[f"words_{case}"]))[0]]
    logits += [model.forward(decode_batch(token, len(prompt) + n))[0] for n, token in enumerate(output)]

    np.testing.assert_allclose(np.array(logits), golden[f"logits_{case}"], rtol=1e-4, atol=1e-4)
