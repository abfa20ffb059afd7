"""A small Mini-GPT with random weights, for tests of the engine that need no trained one."""

from __future__ import annotations

import numpy as np

from worker.model.weights import ModelConfig, Weights, expected_shapes, fold

CONFIG = ModelConfig(
    vocab_size=97, num_layers=2, num_heads=4, width=64, num_positions=160, num_word_rows=65, eos_bias=0.0
)


def random_tensors(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    tensors = {}
    for name, shape in expected_shapes(CONFIG).items():
        spread, centre = (0.2, 1.0) if "norm" in name else (0.3, 0.05)
        tensors[name] = (centre + spread * rng.standard_normal(shape)).astype(np.float32)
    return tensors


def random_weights(seed: int = 0) -> Weights:
    return fold(random_tensors(seed), CONFIG, "test-tokenizer")
