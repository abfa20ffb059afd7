"""The mean of two models that descend from each other, with a bias of its own: `miniserve training mean`.

A training that goes on with new sentences forgets some of the old; halfway back it keeps most of both (Wortsman et al.,
2022, "Robust fine-tuning of zero-shot models").
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from safetensors import safe_open

from api.grammar.tokenizer import Tokenizer
from ops.provenance import weights_origin
from ops.training.evaluation.tuning import tuned_bias, tuning_set
from ops.training.model.export import read_twin, write_weights
from ops.training.model.grow import grown
from ops.training.model.twin import Twin


def mean_of(one: Path, other: Path, share: float) -> Twin:
    """`share` of the other; `share` 0 is the one. Raises ValueError where they are not of one shape."""
    twin, other_twin = read_twin(one), read_twin(other)
    if twin.config != other_twin.config:
        raise ValueError(f"{one} and {other} hold models of different shapes")
    weights = other_twin.state_dict()
    twin.load_state_dict({name: (1 - share) * own + share * weights[name] for name, own in twin.state_dict().items()})
    return twin.eval()


def mean_of_many(parts: Mapping[Path, float]) -> Twin:
    """Every file's weights by its share of all shares; those with fewer layers grow to as many as the largest has."""
    twins = [read_twin(path) for path in parts]
    num_layers = max(twin.config.num_layers for twin in twins)
    states = [grown(twin, num_layers).state_dict() for twin in twins]
    total, mean = sum(parts.values()), grown(twins[0], num_layers)
    weighed = list(zip(parts.values(), states, strict=True))
    mean.load_state_dict({name: sum(share / total * state[name] for share, state in weighed) for name in states[0]})
    return mean.eval()


def write_mean_of(parts: Mapping[Path, float], path: Path) -> None:
    """Write the mean of many, without a bias: it is calibrated afterwards."""
    path.parent.mkdir(parents=True, exist_ok=True)
    trained = {"mean": [{"share": share, **_own_training(part)} for part, share in parts.items()]}
    write_weights(mean_of_many(parts), path, Tokenizer.load().fingerprint, 0.0, json.dumps(trained))


def _own_training(part: Path) -> dict[str, object]:
    """What the metadata of a part say of it; of the weights that it began from, the digest alone."""
    origin = weights_origin(part)
    trained = origin["trained"]
    if isinstance(trained, dict) and isinstance(trained.get("start_from"), dict):
        origin["trained"] = trained | {"start_from": trained["start_from"]["weights"]}
    return origin


def _trained(one: Path, other: Path, share: float) -> str:
    """The metadata: the other's training, and what it was joined with."""
    with safe_open(other, framework="pt") as file:
        trained = json.loads(file.metadata()["trained"])
    return json.dumps(trained | {"mean": {"with": weights_origin(one), "share_of_this_training": share}})


def write_mean(one: Path, other: Path, share: float, corpora: Sequence[Path], out: Path) -> str:
    """Write the mean, with a bias chosen for it, and the tables of the bias into the folder; returns what was done."""
    out.mkdir(parents=True, exist_ok=True)
    tokenizer, twin = Tokenizer.load(), mean_of(one, other, share)
    held_out = tuning_set(corpora, tokenizer)
    bias = tuned_bias(twin, held_out, corpora, out)
    path = out / "mini-gpt.safetensors"
    write_weights(twin, path, tokenizer.fingerprint, bias, _trained(one, other, share))
    return f"{path}: bias {bias:g}, held-out loss {held_out.output_loss(twin):.4f}"
