"""Checkpoint to `mini-gpt.safetensors`: canonical weights in float32, and what the worker must know beside them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from api.grammar.tokenizer import Tokenizer
from ops.provenance import corpus_digests, cpu_name
from ops.training.model.trainer import pick_device
from ops.training.model.twin import TRAINING_ONLY, Twin, TwinConfig
from ops.training.options import TrainOptions
from worker.model.weights import ModelConfig, digest, fingerprint

PLAIN, AVERAGE = KINDS = ("twin", "average")  # which of a checkpoint's weights


@dataclass(frozen=True, slots=True)
class Choice:
    """What was decided on held-out sentences."""

    kind: str = PLAIN
    losses: dict[str, float] = field(default_factory=dict)
    eos_bias: float = 0.0


def load_twin(checkpoint: Path, config: TwinConfig, device: str = "cpu", kind: str = PLAIN) -> Twin:
    """The model of a checkpoint, ready to decode; it has as many layers as the checkpoint."""
    state = torch.load(checkpoint, map_location=device, weights_only=True)[kind]
    num_layers = sum(name.endswith(".wq") for name in state)
    twin = Twin(replace(config, num_layers=num_layers)).to(device)
    twin.load_state_dict(state)
    return twin.eval()


def read_twin(weights: Path) -> Twin:
    """The model of an exported file, ready to decode; its detection head is a fresh one."""
    with safe_open(weights, framework="pt") as file:
        config = json.loads(file.metadata()["config"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    twin = Twin(TwinConfig(**{each.name: config[each.name] for each in fields(TwinConfig)}))
    twin.load_state_dict(tensors, strict=False)
    return twin.eval()


def num_layers_in(weights: Path) -> int:
    """How many layers an exported file holds. Raises ValueError for another file."""
    try:
        with safe_open(weights, framework="pt") as file:
            return sum(name.endswith(".wq") for name in file.keys())  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{weights} is no weights file, or a damaged one: {error}") from None


def export(checkpoint: Path, path: Path, options: TrainOptions, choice: Choice | None = None) -> Path:
    """Write the weights file of a checkpoint."""
    choice = choice or Choice()
    tokenizer = Tokenizer.load()
    twin = load_twin(checkpoint, TwinConfig(vocab_size=tokenizer.vocab_size), kind=choice.kind)
    trained = json.dumps(provenance(checkpoint, options, choice))
    write_weights(twin, path, tokenizer.fingerprint, choice.eos_bias, trained)
    return path


def provenance(checkpoint: Path, options: TrainOptions, choice: Choice) -> dict[str, object]:
    """What the model card says about a run, and what is needed to repeat it."""
    state = torch.load(checkpoint, map_location="cpu", weights_only=True)
    hardware = torch.cuda.get_device_name() if pick_device(options.device) == "cuda" else cpu_name()
    return {
        "date": datetime.now(UTC).date().isoformat(), "seed": options.seed, "commits": state["commits"],
        "corpora": corpus_digests(options.corpora), **state["progress"],
        "precision": state["precision"], "hardware": hardware, "processes": options.num_processes,
        "generators": options.num_streams,
        "torch": torch.__version__, "tokens_per_batch": options.tokens_per_batch,
        "top_rate": options.top_rate, "written_share": options.written_share, "right_prose": options.right_prose,
        "weights": "average" if choice.kind == AVERAGE else "plain",
        "held_out_loss": {kind: round(loss, 4) for kind, loss in choice.losses.items()},
        "start_from": json.loads(state["origin"]),
    }  # fmt: skip


def write_weights(twin: Twin, path: Path, tokenizer_fingerprint: str, eos_bias: float, trained: str) -> None:
    """Write a twin with its metadata; `trained` is free text."""
    config = ModelConfig(**asdict(twin.config), eos_bias=eos_bias)
    metadata = {"config": json.dumps(asdict(config)), "tokenizer": tokenizer_fingerprint,
                "fingerprint": fingerprint(config, tokenizer_fingerprint), "trained": trained}  # fmt: skip
    weights = {name: tensor.detach().float().cpu().contiguous()
               for name, tensor in twin.state_dict().items() if name not in TRAINING_ONLY}  # fmt: skip
    save_file(weights, path, metadata=metadata)
    path.with_suffix(".sha256").write_text(f"{digest(path)}  {path.name}\n")
    path.chmod(0o644)  # the library leaves it to its owner alone, which no other user of the package could read
