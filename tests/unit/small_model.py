"""A small Mini-GPT with random weights, and engines around it, for tests that need no trained one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.messages import Completion, CorrectionRequest, Delivery
from worker.engine import Engine
from worker.model.forward import MiniGPT
from worker.model.weights import ModelConfig, Weights, expected_shapes, fold

CONFIG = ModelConfig(vocab_size=97, num_layers=2, num_heads=4, width=64, num_positions=160, num_word_rows=65)


def random_tensors(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    tensors = {}
    for name, shape in expected_shapes(CONFIG).items():
        spread, centre = (0.2, 1.0) if "norm" in name else (0.3, 0.05)
        tensors[name] = (centre + spread * rng.standard_normal(shape)).astype(np.float32)
    return tensors


def random_weights(seed: int = 0) -> Weights:
    return fold(random_tensors(seed), CONFIG, "test-tokenizer")


class Clock:
    """Stands still until a test turns it."""

    def __init__(self, now_s: float = 0.0) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s


def request(name: str, num_prompt: int = 6, max_output: int = 8) -> CorrectionRequest:
    """With a prompt of its own for each length of the name."""
    rng = np.random.default_rng([num_prompt, len(name)])
    prompt = tuple(rng.integers(2, CONFIG.vocab_size, num_prompt).tolist())
    words = tuple(rng.integers(0, CONFIG.num_word_rows, num_prompt).tolist())
    return CorrectionRequest(name, prompt, words, max_output, "test-tokenizer")


def an_engine(
    num_tokens: int = 2048,
    max_slots: int = 64,
    clock: Callable[[], float] = lambda: 0.0,
    policy: ContinuousBatching | None = None,
    model: MiniGPT | None = None,
) -> Engine:
    policy = policy or ContinuousBatching(BatchLimits(num_tokens, max_slots, 512))
    return Engine(model or MiniGPT(random_weights(), num_tokens), policy, clock)


def answers(engine: Engine, *requests: CorrectionRequest) -> dict[str, Completion]:
    """Of these requests, and of all others that it holds."""
    completions: list[Completion] = []
    for one in requests:
        assert engine.accept(Delivery(one, 1, 0.0)) is None
    while engine.policy.has_work:
        completions += engine.step()
    return {completion.request_id: completion for completion in completions}
