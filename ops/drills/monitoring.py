"""A real monitor beside the system of a drill, and the alerts in its log."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from ops.drills.system import System
from ops.run import processes
from ops.run.supervisor import Member, running

_EVENTS = {"alert raised": True, "alert cleared": False}


class Monitor:
    """Made by `monitored`."""

    def __init__(self, member: Member) -> None:
        self._member = member

    def changes(self) -> list[tuple[float, str, bool]]:
        """All that it has logged: when by `time.monotonic`, which alert, and whether it was raised or cleared."""
        clocks_s = time.time() - time.monotonic()
        whole_lines = self._member.said().rpartition("\n")[0].splitlines()
        lines = [json.loads(line) for line in whole_lines if '"alert ' in line]
        return [
            (datetime.fromisoformat(line["timestamp"]).timestamp() - clocks_s, line["alert"], _EVENTS[line["event"]])
            for line in lines
            if line["event"] in _EVENTS
        ]

    def first(self, alert: str, is_raised: bool, since_s: float) -> float | None:
        """When it first changed so after that time."""
        wanted = (alert, is_raised)
        return next((at_s for at_s, *change in self.changes() if tuple(change) == wanted and at_s >= since_s), None)

    def standing(self) -> set[str]:
        """What is raised now."""
        last = {alert: is_raised for _, alert, is_raised in self.changes()}
        return {alert for alert, is_raised in last.items() if is_raised}


@contextmanager
def monitored(system: System) -> Iterator[Monitor]:
    """A monitor watches the system until the end of the block, with its settings."""
    settings = replace(system.shape.settings, redis_url=system.redis_url, log_level="info", log_format="json")
    env = processes.environment(settings.to_env())
    with running(Member("monitor", processes.miniserve_command("monitor"), env), lambda: None) as member:
        yield Monitor(member)
