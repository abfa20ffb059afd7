"""A sign of life in a file, for health checks of a container whose root file system is read-only.

The file lies in TMPDIR or, without one, in memory (/dev/shm, which containers have) or /tmp, and its time of change is
the beat. `ops/run/health.py` looks at it.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

FRESH_S = 10.0  # a round of the monitor takes a quarter of a second, and up to four where Redis hangs
_PREFIX = f"miniserve-monitor-{os.getuid()}-"
_STALE_S = 3600.0


def places() -> list[Path]:
    """Where a beat may lie."""
    named = os.environ.get("TMPDIR")
    return [Path(named)] if named else [Path("/dev/shm"), Path("/tmp")]


class HeartbeatFile:
    """Made at once; raises OSError where no place can be written."""

    def __init__(self) -> None:
        _remove_stale()
        self._path = _make()

    def beat(self) -> None:
        with suppress(OSError):  # somebody has tidied up: the next start makes a new one
            os.utime(self._path)

    def close(self) -> None:
        self._path.unlink(missing_ok=True)


def is_fresh(now: float) -> bool:
    """Whether a process of this user has beaten lately."""
    return any(now - changed_at <= FRESH_S for _, changed_at in _beats())


def _make() -> Path:
    fault: OSError | None = None
    for place in places():
        try:
            number, name = tempfile.mkstemp(prefix=_PREFIX, dir=place)
        except OSError as error:
            fault = error
            continue
        os.close(number)
        return Path(name)
    raise fault


def _beats() -> list[tuple[Path, float]]:
    """Ours only: the places are everybody's."""
    found = []
    for path in (path for place in places() for path in place.glob(_PREFIX + "*")):
        with suppress(OSError):
            facts = path.lstat()
            if facts.st_uid == os.getuid():
                found.append((path, facts.st_mtime))
    return found


def _remove_stale() -> None:
    """Remove the files of processes that were killed."""
    for path, changed_at in _beats():
        if time.time() - changed_at > _STALE_S:
            path.unlink(missing_ok=True)
