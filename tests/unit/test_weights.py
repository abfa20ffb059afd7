"""Weights that do not fit are refused at start, with what does not match and what to do."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.unit.small_model import CONFIG, random_tensors
from worker.model.weights import DEFAULT_PATH, ModelConfig, WeightsError, digest, fingerprint, load_weights


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


def test_a_vocabulary_with_more_tokens_than_an_output_id_can_name_is_refused(tmp_path: Path):
    config = replace(CONFIG, vocab_size=4097)
    path = write(tmp_path / "w.safetensors", config=config, fingerprint=fingerprint(config, "abc"))

    with pytest.raises(WeightsError, match=r"4,097 tokens.*4,096"):
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


def test_nothing_that_serves_can_unpickle():
    """The training reads checkpoints with weights_only; the rest of the system has no use for pickle at all."""
    root = DEFAULT_PATH.parents[1]
    sources = [path for package in ("api", "ops", "scheduler", "worker") for path in (root / package).rglob("*.py")]
    loaders = re.compile(
        r"\b(?:pickle|marshal|shelve|dill|joblib|cloudpickle)\.\w|import (?:pickle|marshal|shelve|dill)"
    )
    loads = re.compile(r"torch\.load\((?!.*weights_only=True)|np\.load\((?!.*allow_pickle=False)|allow_pickle=True")

    found = [path for path in sources if loaders.search(text := path.read_text(encoding="utf-8")) or loads.search(text)]

    assert found == []


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
