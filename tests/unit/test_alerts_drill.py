"""What the drill on faults asks for."""

from __future__ import annotations

import pytest

from ops.drills.faults import FAULTS
from scheduler.capacity.rules import rules
from scheduler.settings import FAULT_NAMES, Settings


def test_every_fault_of_break_is_turned_on_and_every_alert_is_one_of_the_rules() -> None:
    assert {fault.break_ for fault in FAULTS} - {""} == set(FAULT_NAMES)
    assert {fault.alert for fault in FAULTS} <= {rule.name for rule in rules(Settings())}


@pytest.mark.parametrize(
    ("seen", "num_missed"),
    [
        ({}, 0),
        ({"raised_after_s": 5.1}, 1),
        ({"raised_after_s": None}, 2),
        ({"cleared_after_s": None}, 1),
        ({"readyz": "200"}, 1),
    ],
)
def test_an_alert_that_comes_late_or_never_or_stays_or_a_probe_that_says_nothing_fails_the_drill(
    seen: dict[str, object], num_missed: int
) -> None:
    stuck = next(fault for fault in FAULTS if fault.name == "leaked-slot")
    figures = {"raised_after_s": 4.9, "cleared_after_s": 2.0, "readyz": "Requests wait. See no-progress."} | seen

    checks = [bar.check({"leaked-slot": figures}) for bar in stuck.part().bars]

    assert sum(not check.is_met for check in checks) == num_missed
