"""Numeric truth of the NumPy model and of the engine around it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.messages import CorrectionRequest, Delivery, FinishReason
from tests.unit.small_model import CONFIG, random_tensors, random_weights
from worker.engine import Engine
from worker.model.forward import MiniGPT, PackedBatch, multiply
from worker.model.memory import blocks_of
from worker.model.weights import BlockedMatrix


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


def request(name: str, num_prompt: int, max_output: int, seed: int = 1) -> CorrectionRequest:
    rng = np.random.default_rng([seed, num_prompt])
    prompt = tuple(rng.integers(2, CONFIG.vocab_size, num_prompt).tolist())
    words = tuple(rng.integers(0, 65, num_prompt).tolist())
    return CorrectionRequest(name, prompt, words, max_output, "test-tokenizer")


def engine(model: MiniGPT | None = None, max_slots: int = 64, max_iteration_tokens: int = 512) -> Engine:
    model = model or MiniGPT(random_weights(), 2048)
    policy = ContinuousBatching(BatchLimits(2048, max_slots, max_iteration_tokens))
    return Engine(model, policy, clock=lambda: 0.0)


def run(subject: Engine, requests: list[CorrectionRequest]) -> dict[str, tuple[int, ...]]:
    outputs = {}
    for item in requests:
        assert subject.accept(Delivery(item, 1, 0.0)) is None
    while subject.policy.has_work:
        outputs |= {completion.request_id: completion.output_ids for completion in subject.step()}
    return outputs


def test_cached_decode_equals_a_full_recompute_to_1e_5():
    model = Recorder()
    item = request("r", num_prompt=11, max_output=9)

    outputs = run(engine(model), [item])["r"]

    expected = reference_logits(list(item.prompt_ids), list(item.word_numbers), list(outputs[:-1]))
    found = np.concatenate(model.passes)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()


def test_a_batch_whose_members_join_and_leave_equals_its_members_run_alone():
    items = [request(f"r{i}", num_prompt=3 + i, max_output=1 + (5 * i) % 11) for i in range(40)]
    crowded = engine(max_slots=5, max_iteration_tokens=160)

    together = run(crowded, items)

    assert together == {item.request_id: run(engine(), [item])[item.request_id] for item in items}
    assert crowded.model.arena.num_free == 2048


def test_a_cancelled_sequence_leaves_its_neighbours_unharmed_and_frees_its_rows():
    items = [request(f"r{i}", 6 + i, 8) for i in range(4)]
    calm = run(engine(), items)
    subject = engine()
    for item in items:
        subject.accept(Delivery(item, 1, 0.0))
    subject.step()

    cancelled = subject.cancel("r1")
    outputs = run(subject, [])

    assert cancelled.finish_reason is FinishReason.CANCELLED
    assert outputs == {name: ids for name, ids in calm.items() if name != "r1"}
    assert subject.model.arena.num_free == 2048


def test_a_request_delivered_twice_runs_once():
    subject = engine()
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
    subject = engine()

    completion = subject.accept(Delivery(replace(request("r", 5, 3), **{field: value}), 1, 0.0))

    assert completion.finish_reason is FinishReason.ERROR
    assert told in completion.error
    assert not subject.policy.has_work


@pytest.mark.parametrize("rows", [2, 3, 15, 31, 61, 122, 123, 245])
@pytest.mark.parametrize("shape", [(128, 384), (512, 128)])
def test_a_blocked_product_equals_the_plain_one(rows: int, shape: tuple[int, int]):
    rng = np.random.default_rng(rows)
    x, matrix = rng.standard_normal((rows, shape[0])), rng.standard_normal(shape)

    product = np.empty((rows, shape[1]), dtype=np.float32)

    multiply(x.astype(np.float32), BlockedMatrix(matrix), blocks_of(product))

    assert np.abs(product - x @ matrix).max() < 1e-4
