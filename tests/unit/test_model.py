"""Numeric truth of the NumPy model and of the engine around it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import psutil
import pytest

from scheduler.messages import CorrectionRequest, Delivery, FinishReason
from tests.unit.small_model import CONFIG, an_engine, answers, random_tensors, random_weights, request
from worker.engine import Engine
from worker.model.forward import MiniGPT, PackedBatch
from worker.model.memory import KVArena

MIB = 1 << 20


def reference_logits(prompt: list[int], words: list[int], outputs: list[int]) -> np.ndarray:
    """The model as its formulas stand (docs/model-card.md), float64, no cache, no folding."""
    w = {name: tensor.astype(np.float64) for name, tensor in random_tensors().items()}
    tokens = np.array(prompt + outputs)
    x = w["tok_emb"][tokens] + w["pos_emb"][: len(tokens)] + w["word_emb"][words + [0] * len(outputs)]
    rows = np.arange(len(tokens))
    in_prompt = rows < len(prompt)
    visible = in_prompt[None] | (rows[None] <= rows[:, None]) & ~in_prompt[:, None]  # prompts both ways, then causal
    for i in range(CONFIG.num_layers):
        layer = f"layers.{i}."
        normed = layer_norm(x, w[layer + "norm1"])
        q, k, v = (
            (normed @ w[layer + name]).reshape(len(tokens), 4, -1).transpose(1, 0, 2) for name in ("wq", "wk", "wv")
        )
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[2]) + np.where(visible, 0, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        x = x + (weights @ v).transpose(1, 0, 2).reshape(x.shape) @ w[layer + "wo"]
        hidden = np.maximum(layer_norm(x, w[layer + "norm2"]) @ w[layer + "w_in"], 0) ** 2
        x = x + hidden @ w[layer + "w_out"]
    return (layer_norm(x, w["norm_f"]) @ w["tok_emb"].T)[len(prompt) - 1 :]


def layer_norm(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * gain


class Recorder(MiniGPT):
    """Keeps the logits of every forward pass."""

    def __init__(self) -> None:
        super().__init__(random_weights(), kv_budget_tokens=2048)
        self.passes: list[np.ndarray] = []

    def forward(self, batch: PackedBatch) -> np.ndarray:
        logits = super().forward(batch)
        self.passes.append(logits.copy())
        return logits


def outputs_of(engine: Engine, *requests: CorrectionRequest) -> dict[str, tuple[int, ...]]:
    return {name: completion.output_ids for name, completion in answers(engine, *requests).items()}


def test_cached_decode_equals_a_full_recompute_to_1e_5():
    model = Recorder()
    item = request("r", num_prompt=11, max_output=9)

    outputs = outputs_of(an_engine(model=model), item)["r"]

    expected = reference_logits(list(item.prompt_ids), list(item.word_numbers), list(outputs[:-1]))
    found = np.concatenate(model.passes)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()


def test_a_cancelled_sequence_leaves_its_neighbours_unharmed_and_frees_its_rows():
    items = [request(f"r{i}", 6 + i, 8) for i in range(4)]
    calm = outputs_of(an_engine(), *items)
    subject = an_engine()
    for item in items:
        subject.accept(Delivery(item, 1, 0.0))
    subject.step()

    cancelled = subject.cancel("r1")
    outputs = outputs_of(subject)

    assert cancelled.finish_reason is FinishReason.CANCELLED
    assert outputs == {name: ids for name, ids in calm.items() if name != "r1"}
    assert subject.model.arena.num_free == 2048


def test_a_worker_does_not_grow_when_its_cache_is_full_for_the_first_time():
    process = psutil.Process()
    arena = KVArena(num_layers=4, num_tokens=16_384, width=128)
    assert arena.layers.nbytes == 64 * MIB

    before = process.memory_info().rss
    arena.layers.fill(1)  # what sequences would write

    assert process.memory_info().rss - before < 4 * MIB


def test_a_request_delivered_twice_runs_once():
    subject = an_engine()
    item = Delivery(request("r", 5, 3), 1, 0.0)

    subject.accept(item)
    subject.accept(item)

    assert len(subject.policy.waiting) == 1


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("prompt_ids", (97,) * 5, "outside 0..96"),
        ("prompt_ids", (-1,) * 5, "outside 0..96"),
        ("word_numbers", (65,) * 5, "outside 0..64"),
        ("word_numbers", (1,), "one word number per token"),
        ("prompt_ids", (), "reserves"),
        ("max_output_tokens", 0, "reserves"),
        ("max_output_tokens", 156, "this worker takes 2 to 160"),
        ("tokenizer_fingerprint", "other", "tokenized with other"),
    ],
)
def test_a_request_the_model_cannot_run_is_answered_with_an_error_at_once(field: str, value: object, told: str):
    subject = an_engine()

    completion = subject.accept(Delivery(replace(request("r", 5, 3), **{field: value}), 1, 0.0))

    assert completion.finish_reason is FinishReason.ERROR
    assert told in completion.error
    assert not subject.policy.has_work
