"""Where figures and weights come from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ops.provenance import git_commit


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()

    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)

    git("init")
    (folder / "file").write_text("one")
    git("add", "file")
    git("commit", "-m", "one")
    return folder


def test_a_commit_tells_whether_files_differ_from_it(repository: Path) -> None:
    clean = git_commit(repository)
    (repository / "file").write_text("two")

    assert len(clean) == 10
    assert git_commit(repository) == clean + "+"


def test_neither_a_folder_without_a_repository_nor_one_in_a_users_has_a_commit(repository: Path) -> None:
    site = repository / ".venv" / "lib" / "site-packages"
    site.mkdir(parents=True)

    assert git_commit(site) == git_commit(repository.parent) == "unknown"
