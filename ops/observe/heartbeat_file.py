"""A sign of life in a file, for health checks of a container whose root file system is read-only.

Its time of change is the beat. `ops/run/health.py` looks at it.
"""

from __future__ import annotations

import os
from pathlib import Path

FRESH_S = 10.0  # a round of the monitor takes a quarter of a second, and up to four where Redis hangs
_IN_MEMORY = "/dev/shm"  # which containers have


def place() -> Path:
    folder = os.environ.get("TMPDIR") or (_IN_MEMORY if os.path.isdir(_IN_MEMORY) else "/tmp")
    return Path(folder, f"miniserve-monitor-{os.getuid()}")


def beat() -> None:
    """Raises OSError where the place cannot be written."""
    place().touch(mode=0o600)


def is_fresh(now: float) -> bool:
    """Whether a process of this user has beaten lately: the place is everybody's."""
    try:
        facts = place().lstat()
    except OSError:
        return False
    return facts.st_uid == os.getuid() and now - facts.st_mtime <= FRESH_S


def end() -> None:
    place().unlink(missing_ok=True)
