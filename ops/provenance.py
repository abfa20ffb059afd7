"""Where figures and weights come from: what a reader needs to judge them, and to make them again."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[1]
_CPU_INFO = Path("/proc/cpuinfo")
_LIBRARIES = ("miniserve", "numpy", "redis", "rq", "flask", "gunicorn", "httptools", "uvloop", "matplotlib")


def provenance() -> dict[str, Any]:
    """What stands atop every file of figures: the command, the code, the model, when, the machine."""
    from worker.model.weights import DEFAULT_PATH, digest

    versions = {"python": platform.python_version()}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return {
        "command": " ".join(["miniserve", *sys.argv[1:]]),
        "commit": git_commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"cpu": cpu_name(), "cores": len(os.sched_getaffinity(0)), "system": platform.system()},
        "versions": versions,
        "weights_sha256": digest(DEFAULT_PATH)[:16],
    }


def git_commit(folder: Path = _ROOT) -> str:
    """The commit the code stands at, "+" behind it where files differ; "unknown" where it has no repository of its own.

    An environment may lie in a repository of its user's, whose commit says nothing of the code.
    """
    try:
        if Path(_git(folder, "rev-parse", "--show-toplevel")).resolve() != folder.resolve():
            return "unknown"
        commit = _git(folder, "rev-parse", "--short=10", "HEAD")
        return commit + ("+" if _git(folder, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def cpu_name() -> str:
    """The processor's name as the system reports it."""
    if _CPU_INFO.exists():
        for line in _CPU_INFO.read_text().splitlines():
            label, _, name = line.partition(":")
            if label.strip() == "model name":
                return name.strip()
    return platform.processor() or platform.machine()


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
