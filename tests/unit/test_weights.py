"""Weights that do not fit are refused at start, with what does not match and what to do."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.unit.small_model import CONFIG, random_tensors
from worker.model.weights import DEFAULT_PATH, ModelConfig, WeightsError, digest, fingerprint, load_weights

OTHER_CONFIG, LARGE = replace(CONFIG, long_calibration=(1.0, 0.0)), replace(CONFIG, vocab_size=4097)


def about(config: ModelConfig = CONFIG, made_for: ModelConfig = CONFIG) -> dict[str, str]:
    return {"config": json.dumps(asdict(config)), "tokenizer": "abc", "fingerprint": fingerprint(made_for, "abc")}


def write(path: Path, metadata: dict[str, str] | None = None, **tensors: np.ndarray) -> Path:
    save_file(random_tensors() | tensors, path, metadata=about() if metadata is None else metadata)
    return path


@pytest.mark.parametrize(
    ("metadata", "tensors", "tokenizer", "told"),
    [
        (about(), {}, "xyz", "trained with tokenizer abc, this installation has xyz"),
        (about(OTHER_CONFIG), {}, "abc", "fingerprint .*export it again"),
        (about(LARGE, LARGE), {}, "abc", "4,097 tokens.*4,096"),
        ({}, {}, "abc", "export it again"),
        (about(), {"layers.1.wo": np.zeros((3, 3), np.float32)}, "abc", r"layers\.1\.wo has shape \(3, 3\)"),
    ],
)
def test_weights_that_do_not_fit_are_refused_with_what_does_not(
    tmp_path: Path, metadata: dict[str, str], tensors: dict[str, np.ndarray], tokenizer: str, told: str
):
    path = write(tmp_path / "w.safetensors", metadata, **tensors)

    with pytest.raises(WeightsError, match=told):
        load_weights(path, tokenizer)


@pytest.mark.parametrize("content", [b"", b"not safetensors at all"])
def test_a_damaged_or_missing_file_is_refused_by_name(tmp_path: Path, content: bytes):
    path = tmp_path / "w.safetensors"
    if content:
        path.write_bytes(content)

    with pytest.raises(WeightsError, match=r"w\.safetensors"):
        load_weights(path)


def test_weights_with_a_changed_byte_are_refused_where_their_digest_stands_beside_them(tmp_path: Path):
    path = write(tmp_path / "w.safetensors")
    path.with_suffix(".sha256").write_text(f"{digest(path)}  {path.name}\n")
    load_weights(path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)

    with pytest.raises(WeightsError, match=r"not the file that w\.sha256 states"):
        load_weights(path)


def test_the_shipped_weights_have_their_digest_beside_them():
    """After a training: the export writes both files; copy both."""
    assert DEFAULT_PATH.with_suffix(".sha256").read_text() == f"{digest(DEFAULT_PATH)}  {DEFAULT_PATH.name}\n"
