"""What the weights' metadata say about where they come from."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from ops.provenance import corpus_digests, cpu_name, file_digest, git_commit, weights_origin


def test_a_digest_is_the_start_of_the_sha_256(tmp_path: Path) -> None:
    path = tmp_path / "corpus.tsv"
    path.write_bytes(b"abc")

    assert file_digest(path) == "ba7816bf8f01cfea"
    assert corpus_digests([path, tmp_path / "gone.tsv"]) == {"corpus.tsv": "ba7816bf8f01cfea"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    git("init")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-m", "one")
    return tmp_path


def test_a_commit_tells_whether_files_differ_from_it(repository: Path) -> None:
    clean = git_commit(repository)
    (repository / "file").write_text("two")

    assert len(clean) == 10
    assert git_commit(repository) == clean + "+"


def test_the_commit_of_a_users_repository_around_the_environment_is_not_ours(repository: Path) -> None:
    site = repository / ".venv" / "lib" / "site-packages"
    site.mkdir(parents=True)

    assert git_commit(site) == "unknown"


def test_a_folder_without_a_repository_has_no_commit(tmp_path: Path) -> None:
    assert git_commit(tmp_path) == "unknown"


def test_the_processor_has_a_name() -> None:
    assert cpu_name()


def test_weights_tell_of_the_training_before(tmp_path: Path) -> None:
    told, silent = tmp_path / "told.safetensors", tmp_path / "silent.safetensors"
    save_file({"a": np.zeros(1)}, told, metadata={"trained": json.dumps({"examples": 5})})
    save_file({"a": np.zeros(1)}, silent)

    assert weights_origin(told) == {"weights": file_digest(told), "trained": {"examples": 5}}
    assert weights_origin(silent)["trained"] is None
