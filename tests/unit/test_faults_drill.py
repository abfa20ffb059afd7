"""The table of the drill on faults: it leaves no fault out, and knows only alerts that exist."""

from __future__ import annotations

from ops.drills.faults import FAULTS, Seen, checks_of
from scheduler.capacity.rules import rules
from scheduler.settings import FAULT_NAMES, Settings

STUCK = next(fault for fault in FAULTS if fault.name == "leaked-slot")


def test_every_fault_of_break_is_turned_on() -> None:
    assert {fault.break_ for fault in FAULTS} - {""} == set(FAULT_NAMES)


def test_every_alert_that_is_waited_for_is_one_of_the_rules() -> None:
    assert {fault.alert for fault in FAULTS} <= {rule.name for rule in rules(Settings())}


def test_an_alert_that_comes_late_or_never_or_stays_or_a_probe_that_says_nothing_fails_the_drill() -> None:
    sound = Seen(4.9, 2.0, "Requests wait. See no-progress.", ())
    late, never = Seen(5.1, 2.0, sound.why_unready, ()), Seen(None, None, sound.why_unready, ())
    stays, silent = Seen(4.9, None, sound.why_unready, ()), Seen(4.9, 2.0, "", ())

    missed = [sum(not check.is_met for check in checks_of(STUCK, seen)) for seen in (sound, late, never, stays, silent)]

    assert missed == [0, 1, 3, 1, 1]
