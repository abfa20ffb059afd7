"""The alert drill, held by its command: alerts come and go, whatever the machine's speed makes of the times."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from ops.drills.alert_drill.drill import LOAD_ALERTS, TIMES

_LONGEST_S = 400


def hold_alert_drill(folder: Path, *options: str) -> None:
    """Asserts all that is no matter of time."""
    file = folder / "drill.json"
    command = [sys.executable, "-m", "ops.drills.alert_drill", *options, "--json", str(file)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST_S)

    (drill,) = json.loads(file.read_text())["drills"]
    missed = [check for check in drill["checks"] if not check["is_met"] and check["what"] not in TIMES]
    assert missed == [], done.stdout + done.stderr
    raised = set(drill["details"]["raised_after_s"])
    assert raised >= set(LOAD_ALERTS), f"{raised}\n{done.stdout}"  # a machine that stalls may add one
