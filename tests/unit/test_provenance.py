"""Where figures and weights come from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ops.provenance import file_digest, git_commit


def test_a_digest_is_the_start_of_the_sha_256(tmp_path: Path) -> None:
    path = tmp_path / "corpus.tsv"
    path.write_bytes(b"abc")

    assert file_digest(path) == "ba7816bf8f01cfea"


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
