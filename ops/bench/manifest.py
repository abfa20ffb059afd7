"""What a result was measured with: enough to judge it, and to repeat it."""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ops.provenance import cpu_name, file_digest, git_commit
from worker.model.weights import DEFAULT_PATH

_LIBRARIES = ("miniserve", "numpy", "redis", "rq", "flask", "gunicorn", "httptools", "uvloop", "matplotlib")


def write_manifest(folder: Path, about: dict[str, Any]) -> None:
    """`manifest.json` of a folder of results; `about` says what is special to the experiment."""
    document = {
        "command": " ".join(["miniserve", *sys.argv[1:]]),
        "commit": git_commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **about,
        "machine": {"cpu": cpu_name(), "cores": len(os.sched_getaffinity(0)), "system": platform.system()},
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}},
        "weights_sha256": file_digest(DEFAULT_PATH),
    }
    (folder / "manifest.json").write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
