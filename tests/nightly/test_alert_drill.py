"""The full form of the alert drill: four minutes."""

from __future__ import annotations

from pathlib import Path

from tests.alert_drill import hold_alert_drill


def test_a_load_that_rises_over_two_minutes_and_an_outage_are_told_and_cleared(tmp_path: Path) -> None:
    hold_alert_drill(tmp_path)
