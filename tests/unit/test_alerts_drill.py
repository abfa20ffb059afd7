"""What the drills on alerts and faults make of what they see: waits, a doubled p95, the log of a monitor, the bars."""

from __future__ import annotations

import pytest

from ops.drills.alerts import doubled_after_s
from ops.drills.faults import FAULTS
from scheduler.capacity.rules import rules
from scheduler.settings import FAULT_NAMES, Settings


def test_p95_has_doubled_only_once_two_windows_in_turn_are_twice_the_first() -> None:
    slow = {7.0: 0.5, 17.0: 0.5, 22.0: 0.5}
    latencies = [(at_s, slow.get(at_s, 0.1)) for at_s in (2.0, 7.0, 12.0, 17.0, 22.0, 27.0)]

    assert doubled_after_s(latencies, base_s=5.0) == 20.0
    assert doubled_after_s(latencies[:3], base_s=5.0) is None
    assert doubled_after_s([], base_s=5.0) is None


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
