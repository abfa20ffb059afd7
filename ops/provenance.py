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
    describe = ("describe", "--always", "--exclude=*", "--abbrev=10", "--dirty=+")
    try:
        top, commit = (
            subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True).stdout.strip()
            for words in (("rev-parse", "--show-toplevel"), describe)
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit if Path(top).resolve() == folder.resolve() else "unknown"


def cpu_name() -> str:
    """The processor's name as the system reports it."""
    lines = _CPU_INFO.read_text().splitlines() if _CPU_INFO.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
