"""Checkpoint to `mini-gpt.safetensors`: canonical weights in float32, and what the worker must know beside them."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import torch
from safetensors.torch import save_file

from api.tokenizer import Tokenizer
from ops.training.options import TrainOptions
from ops.training.twin import Twin, TwinConfig
from worker.weights import ModelConfig, fingerprint

_TRAINING_ONLY = ("detection",)


def load_twin(checkpoint: Path, config: TwinConfig, device: str = "cpu") -> Twin:
    """The model of a checkpoint, ready to decode."""
    state = torch.load(checkpoint, map_location=device, weights_only=True)
    twin = Twin(config).to(device)
    twin.load_state_dict(state["twin"])
    return twin.eval()


def export(checkpoint: Path, path: Path, options: TrainOptions, eos_bias: float = 0.0) -> Path:
    """Write the weights file of a checkpoint."""
    tokenizer = Tokenizer.load()
    config = TwinConfig(vocab_size=tokenizer.vocab_size)
    state = torch.load(checkpoint, map_location="cpu", weights_only=True)
    trained = {"date": datetime.now(UTC).date().isoformat(), "seed": options.seed,
               "precision": state["precision"], **state["progress"]}  # fmt: skip
    write_weights(load_twin(checkpoint, config), path, tokenizer.fingerprint, eos_bias, json.dumps(trained))
    return path


def write_weights(twin: Twin, path: Path, tokenizer_fingerprint: str, eos_bias: float, trained: str) -> None:
    """Write a twin with its metadata; `trained` is free text."""
    config = ModelConfig(**asdict(twin.config), eos_bias=eos_bias)
    metadata = {"config": json.dumps(asdict(config)), "tokenizer": tokenizer_fingerprint,
                "fingerprint": fingerprint(config, tokenizer_fingerprint), "trained": trained}  # fmt: skip
    weights = {name: tensor.detach().float().cpu().contiguous()
               for name, tensor in twin.state_dict().items() if name not in _TRAINING_ONLY}  # fmt: skip
    save_file(weights, path, metadata=metadata)
    path.chmod(0o644)  # the library leaves it to its owner alone, which no other user of the package could read
