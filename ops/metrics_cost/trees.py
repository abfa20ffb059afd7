"""Two states of the code, each in a folder: processes of ours run the one that PYTHONPATH names."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ops import processes

HERE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Tree:
    """One of them."""

    name: str
    folder: Path
    options: tuple[str, ...] = ()  # of its `miniserve up`


class TreeError(RuntimeError):
    """An earlier commit cannot be had; the message says why."""


@contextmanager
def checked_out(commit: str, folder: Path) -> Iterator[Tree]:
    """A worktree of this repository at that commit, for as long as the block runs. Raises TreeError."""
    _git("worktree", "add", "--quiet", "--detach", str(folder), commit)
    try:
        yield Tree("before", folder)
    finally:
        _git("worktree", "remove", "--force", str(folder))


@contextmanager
def running_from(tree: Tree) -> Iterator[None]:
    """Children started meanwhile import its packages. Raises TreeError where the installation cannot do that."""
    if processes.miniserve_command()[1:] == ["-m", "ops.cli"]:
        raise TreeError("no script `miniserve` beside this Python: `make install` makes one")
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(tree.folder)
    try:
        yield
    finally:
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before


def _git(*arguments: str) -> None:
    try:
        subprocess.run(["git", "-C", str(HERE), *arguments], check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise TreeError("git is not installed") from None
    except subprocess.CalledProcessError as error:
        raise TreeError(error.stderr.strip()) from None
