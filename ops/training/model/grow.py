"""Adds layers to weights without changing what they compute: `miniserve training grow`.

A new layer is a copy of the one below it whose two output matrices are zero, so it adds nothing until a training has
taught it to (Wu et al., 2024, "LLaMA Pro: Progressive LLaMA with Block Expansion").
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import torch
from safetensors import safe_open

from ops.provenance import file_digest
from ops.training.model.export import read_twin, write_weights
from ops.training.model.twin import Twin

_LAYER = re.compile(r"layers\.(\d+)\.(\w+)")
_OUTPUTS = ("wo", "w_out")  # what a layer adds to the residual stream


def grown(twin: Twin, num_layers: int) -> Twin:
    """The same function with `num_layers` layers, the new ones spread evenly.

    Raises ValueError where the twin has more, or fewer than half as many.
    """
    num_old = twin.config.num_layers
    num_new = num_layers - num_old
    if not 0 <= num_new <= num_old:
        raise ValueError(f"{num_old} layers grow to {num_old} to {2 * num_old}, not to {num_layers}")
    copied = {(rank + 1) * num_old // num_new - 1 for rank in range(num_new)}  # by an old layer's number
    taken_from = [(old, is_new) for old in range(num_old) for is_new in (False, True) if not is_new or old in copied]
    weights = twin.state_dict()
    larger = Twin(replace(twin.config, num_layers=num_layers))
    state = {}
    for name in larger.state_dict():
        if not (match := _LAYER.fullmatch(name)):
            state[name] = weights[name]
            continue
        old, is_new = taken_from[int(match[1])]
        own = weights[f"layers.{old}.{match[2]}"]
        state[name] = torch.zeros_like(own) if is_new and match[2] in _OUTPUTS else own
    larger.load_state_dict(state)
    return larger.eval()


def write_grown(path: Path, num_layers: int, out: Path) -> None:
    """Write weights with more layers that compute what those of `path` do."""
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    trained = json.loads(metadata["trained"]) | {"grown": {"from": file_digest(path), "layers": num_layers}}
    bias = json.loads(metadata["config"])["eos_bias"]
    write_weights(grown(read_twin(path), num_layers), out, metadata["tokenizer"], bias, json.dumps(trained))
