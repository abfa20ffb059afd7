"""Writes `tests/unit/golden_logits.npz`: `miniserve-training golden`.

A small twin with random weights, some prompts with outputs, and the logits PyTorch gives for them, so that the NumPy
model can be checked against the training code where PyTorch is not installed.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from miniserve_training.model.twin import TRAINING_ONLY, Twin, TwinConfig

CONFIG = TwinConfig(vocab_size=97, num_layers=2, num_heads=4, width=64, num_positions=40, num_word_rows=12)
LENGTHS = ((3, 2), (9, 5), (17, 12))  # tokens of prompt and output
SEED = 20
PATH = Path(__file__).parents[4] / "tests" / "unit" / "golden_logits.npz"


def golden_arrays() -> dict[str, np.ndarray]:
    """What the file holds: `config` (JSON), `weights/<name>`, and per case `prompt`, `words`, `output`, `logits`.

    Row 0 of `logits` (N + 1, V) follows the prompt, row n the n-th output token.
    """
    generator = torch.Generator().manual_seed(SEED)
    twin = random_twin(generator)
    arrays = {"config": np.array(json.dumps(asdict(CONFIG)))}
    arrays |= {f"weights/{name}": each.numpy() for name, each in twin.state_dict().items() if name not in TRAINING_ONLY}
    for case, (num_prompt, num_output) in enumerate(LENGTHS):
        tokens = torch.randint(0, CONFIG.vocab_size, (1, num_prompt + num_output), generator=generator)
        words = torch.randint(0, CONFIG.num_word_rows, (1, num_prompt + num_output), generator=generator)
        words[:, num_prompt:] = 0
        with torch.no_grad():
            hidden = twin.hidden(tokens, words, torch.tensor([num_prompt]))[0, num_prompt - 1 :]
            logits = twin.logits(hidden)
        arrays |= {f"prompt_{case}": tokens[0, :num_prompt].numpy(), f"words_{case}": words[0, :num_prompt].numpy(),
                   f"output_{case}": tokens[0, num_prompt:].numpy(), f"logits_{case}": logits.numpy()}  # fmt: skip
    return arrays


def random_twin(generator: torch.Generator) -> Twin:
    """Weights large enough that attention is far from even and no part of the model is negligible."""
    twin = Twin(CONFIG)
    with torch.no_grad():
        for name, param in twin.named_parameters():
            noise = torch.randn(param.shape, generator=generator)
            param.copy_(1 + 0.3 * noise if "norm" in name else 0.2 * noise)
    return twin.eval()


def write_golden() -> None:
    """Write the file."""
    np.savez_compressed(PATH, **golden_arrays())
