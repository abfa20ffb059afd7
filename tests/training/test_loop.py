"""A run from corpus to weights file, small: needs `pip install .[train]`."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import pytest
import torch

from ops.training import loop
from ops.training.loop import Progress, train
from ops.training.options import TrainOptions
from worker.weights import load_weights

SENTENCES = [
    "He went to NAME.\tHe/PRP/0 went/VBD/1 to/TO/2 NAME/NNP/3 ././4",
    "She took NAME.\tShe/PRP/0 took/VBD/1 NAME/NNP/2 ././3",
    "They are with NAME.\tThey/PRP/0 are/VBP/1 with/IN/2 NAME/NNP/3 ././4",
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.tsv"
    names = ["".join(letters) for letters in product("ABCDEFGHIJ", "aeiou", "lmnr")]
    path.write_text("".join(f"test\t{line.replace('NAME', name)}\n" for name in names for line in SENTENCES))
    return path


def options(corpus: Path, out: Path, **others: object) -> TrainOptions:
    return TrainOptions((corpus,), out, num_examples=200, device="cpu", tokens_per_batch=400, **others)


def test_a_run_ends_in_weights_the_worker_loads_and_goes_on_where_it_stopped(corpus, tmp_path, monkeypatch):
    for name, value in {"_METRICS_EVERY_STEPS": 2, "_SCORE_ITEMS": 5, "_TUNING_ITEMS": 5}.items():
        monkeypatch.setattr(loop, name, value)

    path = train(options(corpus, tmp_path / "run"))

    weights = load_weights(path)
    assert weights.config.vocab_size == 3072
    with (tmp_path / "run" / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert int(rows[-1]["examples"]) >= 200
    assert rows[-1]["exact"] != ""

    first = torch.load(tmp_path / "run" / "checkpoint.pt", weights_only=True)["progress"]
    train(options(corpus, tmp_path / "run", resume=True))
    second = torch.load(tmp_path / "run" / "checkpoint.pt", weights_only=True)["progress"]
    assert second == first, "a finished run is exported anew and learns nothing more"


def test_a_run_is_never_overwritten_by_mistake(corpus, tmp_path):
    checkpoint = tmp_path / "run" / "checkpoint.pt"
    checkpoint.parent.mkdir()
    checkpoint.write_bytes(b"hours of work")

    with pytest.raises(FileExistsError, match="--resume"):
        train(options(corpus, tmp_path / "run"))

    assert checkpoint.read_bytes() == b"hours of work"


def test_the_rate_warms_up_and_then_falls_with_examples_or_minutes_whichever_is_further():
    plan = TrainOptions((), num_examples=1000, max_minutes=10)

    assert Progress(steps=0).rate_scale(plan) == pytest.approx(1 / 150)
    assert Progress(steps=500, examples=500, elapsed_s=60).share(plan) == 0.5
    assert Progress(steps=500, examples=100, elapsed_s=480).share(plan) == 0.8
    assert Progress(steps=500, examples=2000).rate_scale(plan) == pytest.approx(0.03)
