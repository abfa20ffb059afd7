"""Weights that do not fit are refused at start, with what does not match and what to do."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.unit.small_model import CONFIG, random_tensors
from worker.model.weights import ModelConfig, WeightsError, fingerprint, load_weights


def write(path: Path, config: ModelConfig = CONFIG, **changes: str) -> Path:
    metadata = {
        "config": json.dumps(asdict(config)),
        "tokenizer": "abc",
        "fingerprint": fingerprint(CONFIG, "abc"),
    } | changes
    save_file(random_tensors(), path, metadata=metadata)
    return path


def test_weights_that_match_their_tokenizer_load(tmp_path: Path):
    weights = load_weights(write(tmp_path / "w.safetensors"), tokenizer_fingerprint="abc")

    assert weights.config == CONFIG


def test_weights_of_another_tokenizer_are_refused_naming_both(tmp_path: Path):
    with pytest.raises(WeightsError, match=r"trained with tokenizer abc, this installation has xyz"):
        load_weights(write(tmp_path / "w.safetensors"), tokenizer_fingerprint="xyz")


def test_weights_whose_config_was_changed_are_refused(tmp_path: Path):
    path = write(tmp_path / "w.safetensors", config=replace(CONFIG, eos_bias=3.0))

    with pytest.raises(WeightsError, match="fingerprint"):
        load_weights(path)


def test_weights_without_our_metadata_are_refused(tmp_path: Path):
    path = tmp_path / "w.safetensors"
    save_file(random_tensors(), path)

    with pytest.raises(WeightsError, match="export it again"):
        load_weights(path)


@pytest.mark.parametrize("content", [b"", b"not safetensors at all"])
def test_a_damaged_or_missing_file_is_refused_by_name(tmp_path: Path, content: bytes):
    path = tmp_path / "w.safetensors"
    if content:
        path.write_bytes(content)

    with pytest.raises(WeightsError, match=r"w\.safetensors"):
        load_weights(path)


def test_a_tensor_of_another_shape_is_named(tmp_path: Path):
    tensors = random_tensors() | {"layers.1.wo": np.zeros((3, 3), dtype=np.float32)}
    metadata = {
        "config": json.dumps(asdict(CONFIG)),
        "tokenizer": "abc",
        "fingerprint": fingerprint(CONFIG, "abc"),
    }
    save_file(tensors, tmp_path / "w.safetensors", metadata=metadata)

    with pytest.raises(WeightsError, match=r"layers\.1\.wo has shape \(3, 3\)"):
        load_weights(tmp_path / "w.safetensors")
