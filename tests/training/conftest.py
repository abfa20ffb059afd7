"""A small corpus, and runs that end at once."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from ops.training.evaluation import tuning
from ops.training.model import loop
from ops.training.text.written import lines as written

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


@pytest.fixture
def quick(monkeypatch) -> None:
    for module, name, value in (
        (loop, "_METRICS_EVERY_STEPS", 2), (loop, "_SCORE_ITEMS", 5), (tuning, "TUNING_ITEMS", 5)
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    read = written.load
    monkeypatch.setattr(written, "load", lambda *, held_out: read(held_out=held_out)[:5])
