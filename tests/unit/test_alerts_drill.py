"""What the drills on alerts and faults make of what they see: waits, a doubled p95, the log of a monitor, the bars."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest

from ops.drills.alerts import doubled_after_s, mean_waits
from ops.drills.faults import FAULTS
from ops.drills.monitoring import Monitor
from ops.drills.traffic import Exchange
from ops.load.server_timing import queue_s
from ops.run.supervisor import Member
from scheduler.capacity.rules import rules
from scheduler.settings import FAULT_NAMES, Settings


def waited(at_s: float, queue_ms: float) -> tuple[float, Exchange]:
    timing = f"queue;dur={queue_ms}, prefill;dur=1, decode;dur=2, total;dur=20".encode()
    return at_s, Exchange(number=0, question={}, due_s=at_s, status=200, server_timing=timing)


def test_the_predicted_wait_of_a_request_is_the_latest_told_before_it_was_due() -> None:
    rise = [waited(-1.0, 900), waited(1.0, 10), waited(3.0, 30)]

    assert mean_waits(rise, [(0.0, 0.010), (2.0, 0.020)]) == (pytest.approx(0.015), pytest.approx(0.020))
    assert mean_waits(rise, []) == (0.0, 0.0)
    assert queue_s(b"") is None


def test_p95_has_doubled_only_once_two_windows_in_turn_are_twice_the_first() -> None:
    slow = {7.0: 0.5, 17.0: 0.5, 22.0: 0.5}
    latencies = [(at_s, slow.get(at_s, 0.1)) for at_s in (2.0, 7.0, 12.0, 17.0, 22.0, 27.0)]

    assert doubled_after_s(latencies, base_s=5.0) == 20.0
    assert doubled_after_s(latencies[:3], base_s=5.0) is None
    assert doubled_after_s([], base_s=5.0) is None


class Logged(Member):
    """A monitor that has logged so far that an alert was raised, cleared and raised again, one second after another."""

    def said(self) -> str:
        line = {"alert": "no-live-worker", "sentence": "x"}
        events = enumerate(("watching", "alert raised", "alert cleared", "alert raised"))
        begun_s = time.time() - time.monotonic()
        told = [line | {"event": event, "timestamp": datetime.fromtimestamp(begun_s + at_s, UTC).isoformat()}
                for at_s, event in events]  # fmt: skip
        return "\n".join([*map(json.dumps, told), '{"event": "alert ra'])


def test_the_alerts_of_a_monitor_are_read_from_its_log() -> None:
    monitor = Monitor(Logged("monitor", ()))

    assert [one.is_raised for one in monitor.changes()] == [True, False, True]
    assert monitor.first("no-live-worker", True, 0.0) == pytest.approx(1.0, abs=0.1)
    assert monitor.first("no-live-worker", True, 2.5) == pytest.approx(3.0, abs=0.1)
    assert monitor.raised_s(0.5) == {"no-live-worker": pytest.approx(0.5, abs=0.2)}
    assert monitor.standing() == {"no-live-worker"}


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
