"""Where a request is that has no answer yet, for those who ask about it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum


class Phase(Enum):
    """Where a job without an outcome is."""

    QUEUED = "queued"
    RUNNING = "running"


def phase_of(states: Sequence[object]) -> Phase | None:
    """The phase of a request, from what is known of each of its jobs: its Phase, or how it ended. None: all ended."""
    if not any(isinstance(state, Phase) for state in states):
        return None
    return Phase.QUEUED if all(state is Phase.QUEUED for state in states) else Phase.RUNNING
