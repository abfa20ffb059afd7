"""The short form of every fault drill but the soak: a real Redis, real processes, really killed.

What is a matter of time is not asked: it says as much about the machine as about us.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ops.drills.catalogue import DRILLS
from ops.drills.drill import Drill, Stage, hold
from ops.drills.figures import Figures
from ops.drills.rude_clients import ATTACKS
from ops.run import processes
from tests.chaos_times import TIMES
from tests.running_system import descendants, is_running, wait_until

# What shows that a drill did what it is for, where its bars do not.
SHOWN: dict[str, Callable[[Figures], bool]] = {
    "every-command": lambda found: (
        {(point[:3], "before its reply" in point) for point in found["points"]}
        >= {("wor", True), ("api", True), ("api", False)}
    ),
    "overload": lambda found: found["most_reserved_requests"] == 128,
    "refusals": lambda found: found["polite"]["first_refusals"] > 0,
    "greedy-client": lambda found: "500" not in found["flood"]["statuses"],
    "attacks": lambda found: all(found[kind]["rounds"] > 0 for kind in ATTACKS),
    "poison": lambda found: found["load"]["crashes"] >= 4,
    "probes": lambda found: found["probes"]["load"]["asked"] > 10,
}


def held(drill: Drill, is_quick: bool) -> Figures:
    """What it found. Asserts all that is no matter of time."""
    result = hold(drill, Stage(is_quick=is_quick, seed=1))

    assert [check for check in result.checks if not check.is_met and check.what not in TIMES] == []
    return result.figures


@pytest.mark.parametrize("name", [name for name in DRILLS if name != "soak"])
def test_a_drill_loses_nothing_and_doubles_nothing(name: str) -> None:
    found = held(DRILLS[name], is_quick=True)

    assert SHOWN.get(name, bool)(found), found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_drill_that_is_interrupted_ends_all_that_it_started(number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "chaos.json"
    command = processes.miniserve_command("chaos", "kill-worker", "--save", str(file))
    drill = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_until(lambda: len(descendants(drill.pid)) >= 5, 30, "Redis, a replica and two workers")
    started = descendants(drill.pid)

    drill.send_signal(number)

    assert drill.wait(30) == 130
    wait_until(lambda: not any(map(is_running, started)), 10, "the end of all that was started")
    assert json.loads(file.read_text())["drills"] == []
