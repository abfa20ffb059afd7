"""A twin to and from weights files: canonical weights in float32, and what the worker must know beside them."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from api.grammar.tokenizer import Tokenizer
from miniserve_training.model.trainer import Trainer
from miniserve_training.model.twin import TRAINING_ONLY, Twin, TwinConfig
from ops.provenance import cpu_name
from worker.model.weights import ModelConfig, digest, fingerprint


def read_twin(weights: Path, tokenizer: Tokenizer) -> Twin:
    """The model of a file, of any shape; the detection head, which no file holds, is a fresh one.

    Raises ValueError where the file is damaged or was made for another tokenizer.
    """
    try:
        with safe_open(weights, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{weights} is no weights file, or a damaged one: {error}") from None
    if metadata.get("tokenizer") != tokenizer.fingerprint:
        raise ValueError(
            f"{weights} was trained with tokenizer {metadata.get('tokenizer')}, this one is {tokenizer.fingerprint}: "
            "start from random weights instead"
        )
    config = json.loads(metadata["config"])
    twin = Twin(TwinConfig(**{each.name: config[each.name] for each in fields(TwinConfig)}))
    twin.load_state_dict(tensors, strict=False)
    return twin


def weights_origin(path: Path) -> dict[str, object]:
    """The digest of the weights that a run began from, and what they tell of their own training."""
    with safe_open(path, framework="pt") as file:
        return {"weights": digest(path)[:16], "trained": json.loads((file.metadata() or {}).get("trained", "null"))}


@torch.no_grad()
def export(trainer: Trainer, started: Twin, tokenizer: Tokenizer, path: Path) -> Path:
    """Write the average of a run's weights, and what they were at its start by the share that the recipe keeps.

    Their edits have no confidence until they are calibrated.
    """
    learnt = trainer.average.module.cpu()
    for mean, before in zip(learnt.parameters(), started.cpu().parameters(), strict=True):
        mean.lerp_(before, trainer.options.start_share)
    write_weights(learnt, path, tokenizer.fingerprint, json.dumps(_provenance(trainer)))
    return path


def _provenance(trainer: Trainer) -> dict[str, object]:
    """What the model card says about a run, and what is needed to repeat it."""
    options = trainer.options
    return {
        "date": datetime.now(UTC).date().isoformat(), "seed": options.seed, "commits": trainer.commits,
        "corpora": {corpus.name: digest(corpus)[:16] for corpus in options.corpora}, **asdict(trainer.progress),
        "lines": {path.name: digest(path)[:16] for path in options.lines},
        "precision": str(trainer.precision), "generators": options.num_streams, "torch": torch.__version__,
        "hardware": torch.cuda.get_device_name() if trainer.device == "cuda" else cpu_name(),
        "tokens_per_batch": options.tokens_per_batch, "top_rate": options.top_rate,
        "written_share": options.written_share, "right_prose": options.right_prose, "start_from": trainer.origin,
        "start_share": options.start_share,
    }  # fmt: skip


def write_weights(twin: Twin, path: Path, tokenizer_fingerprint: str, trained: str) -> None:
    """Write a twin with its metadata; `trained` is free text."""
    config = ModelConfig(**asdict(twin.config))
    metadata = {"config": json.dumps(asdict(config)), "tokenizer": tokenizer_fingerprint,
                "fingerprint": fingerprint(config, tokenizer_fingerprint), "trained": trained}  # fmt: skip
    weights = {name: tensor.detach().float().cpu().contiguous()
               for name, tensor in twin.state_dict().items() if name not in TRAINING_ONLY}  # fmt: skip
    save_file(weights, path, metadata=metadata)
    path.with_suffix(".sha256").write_text(f"{digest(path)}  {path.name}\n")
    path.chmod(0o644)  # the library leaves it to its owner alone, which no other user of the package could read
