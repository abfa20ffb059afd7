"""What the weights file says of itself, read from its header alone: no NumPy, no tensors, a millisecond."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path

BYTES_PER_FLOAT = 4
_WEIGHTS = Path(__file__).parents[2] / "worker" / "mini-gpt.safetensors"


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Size and shape of the model that ships with the package."""

    num_parameters: int
    num_layers: int
    width: int

    @property
    def kv_bytes_per_token(self) -> int:
        """Keys and values of one token in all layers, float32."""
        return 2 * self.num_layers * self.width * BYTES_PER_FLOAT


def read_model_facts() -> ModelFacts:
    """Raises OSError or ValueError where the file is missing or is no safetensors file of ours."""
    with _WEIGHTS.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    try:
        config = json.loads(header.pop("__metadata__")["config"])
        return ModelFacts(
            num_parameters=sum(math.prod(tensor["shape"]) for tensor in header.values()),
            num_layers=int(config["num_layers"]),
            width=int(config["width"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"worker/mini-gpt.safetensors lacks {error}") from error
