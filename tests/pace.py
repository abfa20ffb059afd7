"""How long a test waits before it gives up: longer on a slow or a busy machine.

No test asserts how long something took. A deadline costs time only where a test fails, so it may be generous; where
nothing else ends a wait, faulthandler_timeout of pyproject.toml does.
"""

from __future__ import annotations

import os
import time

_PIECE_S = 0.03  # on a core that does nothing else
_LOAD_TO_COME = 3.0  # what may begin to run here after the measurement
_MOST = 10.0


def _piece_s() -> float:
    """Wall time of a fixed piece of work: a busy machine counts as a slow one."""
    began_s = time.perf_counter()
    sum(number * number for number in range(600_000))
    return time.perf_counter() - began_s


def _measured() -> float:
    return min(_MOST, _LOAD_TO_COME * max(1.0, max(_piece_s() for _ in range(5)) / _PIECE_S))


PATIENCE = float(os.environ.get("TEST_PATIENCE") or _measured())
os.environ["TEST_PATIENCE"] = str(PATIENCE)  # so the processes of a run measure it once


def patient(seconds: float) -> float:
    """That time, as this machine needs it."""
    return seconds * PATIENCE
