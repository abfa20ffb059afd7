"""What the weights file says of itself, read from its header alone: no NumPy, no tensors, a millisecond."""

from __future__ import annotations

import json
import math
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
    """Raises OSError, ValueError or LookupError where the file is missing or is no safetensors file of ours."""
    with _WEIGHTS.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    config = json.loads(header.pop("__metadata__")["config"])
    num_parameters = sum(math.prod(tensor["shape"]) for tensor in header.values())
    return ModelFacts(num_parameters, config["num_layers"], config["width"])
