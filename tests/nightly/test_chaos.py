"""The full form of every fault drill; of the soak three minutes. Forty minutes in all."""

from __future__ import annotations

import json
import subprocess
from functools import partial
from pathlib import Path

import pytest

from ops.drills.catalogue import DRILLS
from ops.drills.drill import Drill, Stage, hold
from ops.drills.soak import soak
from ops.run import processes
from tests.chaos_times import TIMES

LONGEST_S = {
    "kill-worker": 400, "kill-series": 120, "every-command": 240, "kill-api": 240, "drop-subscriber": 180,
    "kill-redis": 300, "kill-primary": 300,
    "overload": 300, "refusals": 240, "attacks": 900,
    "clients-leave": 120, "rolling-restart": 240, "poison": 120, "fill-memory": 240, "greedy-client": 240,
    "probes": 180, "alerts": 400, "faults": 900,
}  # fmt: skip
SOAK_MINUTES = 3.0
WARMING_UP_PERCENT = 10.0  # within the minutes that the full form does not judge


@pytest.mark.parametrize("name", LONGEST_S)
def test_the_full_form_of_a_drill_loses_nothing_and_doubles_nothing(name: str, tmp_path: Path) -> None:
    file = tmp_path / "chaos.json"
    command = processes.miniserve_command("chaos", name, "--save", str(file))

    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S[name])

    (drill,) = json.loads(file.read_text())["drills"]
    missed = [check for check in drill["checks"] if not check["is_met"] and check["what"] not in TIMES]
    assert (drill["name"], missed) == (name, []), done.stdout + done.stderr


def test_three_minutes_of_steady_load_lose_nothing_and_hardly_grow() -> None:
    short = Drill("soak", DRILLS["soak"].what, DRILLS["soak"].bar, partial(soak, minutes=SOAK_MINUTES))

    result = hold(short, Stage(is_quick=False, seed=0))

    growth = result.findings.details["growth_percent"]
    assert [check for check in result.findings.checks if not check.is_met] == []
    assert {name for name, percent in growth.items() if name.endswith("rss") and percent > WARMING_UP_PERCENT} == set()


def test_waits_are_measured_at_three_loads() -> None:
    result = hold(DRILLS["waits"], Stage(is_quick=True, seed=1))

    assert [check for check in result.findings.checks if not check.is_met and check.what not in TIMES] == []
    assert [row["load"] for row in result.findings.details["loads"] if row["num_waits"]] == [0.5, 0.8, 0.95]


def test_every_drill_is_held_here_in_full() -> None:
    """But for the waits, which take 16 minutes and judge times alone."""
    assert set(LONGEST_S) | {"soak", "waits"} == set(DRILLS)
