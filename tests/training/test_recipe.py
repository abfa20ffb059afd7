"""A recipe from a small corpus to weights: needs `pip install .[train]`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from api.grammar.tokenizer import Tokenizer
from ops.provenance import file_digest
from ops.training import recipe
from ops.training.model.export import read_twin, write_weights
from ops.training.model.grow import write_grown
from ops.training.model.mean import mean_of_many
from ops.training.model.twin import Twin, TwinConfig
from worker.model.weights import load_weights


def weights_file(path: Path, seed: int) -> Path:
    torch.manual_seed(seed)
    tokenizer = Tokenizer.load()
    twin = Twin(TwinConfig(vocab_size=tokenizer.vocab_size, num_layers=1))
    write_weights(twin, path, tokenizer.fingerprint, 1.5, json.dumps({"seed": seed}))
    return path


def test_the_mean_of_many_weighs_each_by_its_share(tmp_path):
    parts = {weights_file(tmp_path / f"{seed}.safetensors", seed): seed for seed in (1, 2, 5)}

    mean = mean_of_many(parts)

    wanted = sum(share / 8 * read_twin(path).tok_emb for path, share in parts.items())
    assert torch.allclose(mean.tok_emb, wanted, atol=1e-6)


def test_the_mean_is_as_deep_as_the_deepest_part(tmp_path):
    small = weights_file(tmp_path / "small.safetensors", 1)
    write_grown(small, 2, tmp_path / "large.safetensors")

    mean = mean_of_many({small: 1, tmp_path / "large.safetensors": 2})

    tokens, words, length = torch.tensor([[7, 8, 9]]), torch.tensor([[1, 2, 3]]), torch.tensor([3])
    assert mean.config.num_layers == 2
    assert torch.allclose(mean.hidden(tokens, words, length), read_twin(small).hidden(tokens, words, length), atol=1e-5)


def test_a_recipe_ends_in_calibrated_weights_and_repeats_no_step(corpus, quick, tmp_path, monkeypatch):
    given, out = weights_file(tmp_path / "given.safetensors", 3), tmp_path / "out"
    monkeypatch.setattr(recipe.natural, "write_files", _write_calibration)
    steps = {
        "most_changed": 0.5, "grow": {"layers": 2}, "mean": {"trunk": 1, "branch": 3},
        "train": [
            {"name": "trunk", "start": "grown", "examples": 40, "learns_mined": True, "top_rate": 0.3, "seed": 2},
            {"name": "branch", "start": "trunk", "examples": 40, "written_share": 0.6},
        ],
    }  # fmt: skip

    path = recipe.follow(steps, given, (corpus,), out, device="cpu", tokens_per_batch=400)

    weights = load_weights(path)
    assert weights.config.num_layers == 2
    assert weights.config.reason_biases
    with safe_open(path, framework="numpy") as file:
        parts = json.loads(file.metadata()["trained"])["mean"]
    assert [part["share"] for part in parts] == [1, 3]
    assert parts[1]["trained"]["written_share"] == 0.6
    assert parts[1]["trained"]["start_from"] == file_digest(out / "trunk" / recipe.WEIGHTS)

    monkeypatch.setattr("ops.training.model.loop.train", _fail)
    made = (out / "mean" / recipe.WEIGHTS).stat().st_mtime_ns
    assert recipe.follow(steps, given, (corpus,), out) == path
    assert (out / "mean" / recipe.WEIGHTS).stat().st_mtime_ns == made


@pytest.mark.parametrize("name", ["recipe.toml", "from_random.toml"])
def test_a_recipe_of_the_repository_names_its_own_steps(name):
    steps = recipe.tomllib.loads(recipe.DEFAULT.with_name(name).read_text())
    names = ["given", *(["grown"] if "grow" in steps else [])]
    for step in steps["train"]:
        assert step.get("start", "given") in names
        names.append(step["name"])
    assert set(steps["mean"]) <= set(names)


def test_a_recipe_may_begin_with_random_weights(corpus, quick, tmp_path, monkeypatch):
    given, out = weights_file(tmp_path / "given.safetensors", 3), tmp_path / "out"
    monkeypatch.setattr(recipe.natural, "write_files", _write_calibration)
    steps = {"most_changed": 0.5, "mean": {"whole": 1}, "train": [{"name": "whole", "examples": 40}]}

    path = recipe.follow(steps, given, (corpus,), out, device="cpu", tokens_per_batch=400)

    with safe_open(path, framework="numpy") as file:
        (part,) = json.loads(file.metadata()["trained"])["mean"]
    assert part["trained"]["start_from"] is None
    assert load_weights(path).config.num_layers == TwinConfig().num_layers


def _write_calibration(out: Path, _: object) -> None:
    out.mkdir(exist_ok=True)
    for name in recipe.natural.CALIBRATION:
        (out / name).write_text('{"sentence": "He go.", "corrected": "He goes."}\n')


def _fail(_: object) -> None:
    pytest.fail("a step whose file is there was done again")
