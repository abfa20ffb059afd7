"""What the alert drill makes of its samples: predicted and real waits, the doubled p95, the checks, the table."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest

from ops.drills.alerts import LOAD_ALERTS, Plan, Ramp, checks_of, off_percent
from ops.drills.inbox import Change, Inbox
from ops.drills.traffic import Exchange
from ops.load.arrivals import VariedLoop
from ops.load.server_timing import queue_s

STARTED_S = 100.0
SOUND: dict[str, Any] = {
    "raised_after_s": dict.fromkeys(LOAD_ALERTS, 60.0), "p95_doubled_after_s": 70.0, "load_fell_after_s": 135.0,
    "predicted_wait_off_percent": 12.0, "clear_after_fall_s": 40.0,
}  # fmt: skip


def exchange(due_s: float, latency_s: float = 0.1, queue_ms: float = 10.0) -> Exchange:
    timing = f"queue;dur={queue_ms}, prefill;dur=1, decode;dur=2, total;dur=20".encode()
    due_s += STARTED_S
    return Exchange(
        number=0, question={}, key="", due_s=due_s, ended_s=due_s + latency_s, status=200, server_timing=timing
    )


def ramp(*exchanges: Exchange, predictions: list[tuple[float, float]], changes: tuple[Change, ...] = ()) -> Ramp:
    return Ramp(STARTED_S, 5.0, exchanges, predictions, changes, fell_s=1000.0)


def test_the_predicted_wait_of_a_request_is_the_latest_told_before_it_was_due() -> None:
    seen = ramp(
        exchange(-1.0, queue_ms=900), exchange(1.0, queue_ms=10), exchange(3.0, queue_ms=30),
        predictions=[(0.0, 0.010), (2.0, 0.020)],
    )  # fmt: skip

    assert seen.waits(seen.exchanges) == (pytest.approx(0.015), pytest.approx(0.020))
    assert seen.figures()["predicted_wait_off_percent"] == 25.0


def test_waits_that_are_closer_than_two_milliseconds_count_as_equal() -> None:
    assert off_percent(0.001, 0.0029) == 0.0
    assert off_percent(0.015, 0.020) == 25.0


def test_an_answer_without_server_timing_tells_no_queue() -> None:
    assert queue_s(b"") is None
    assert queue_s(b"queue;dur=12.5, total;dur=20") == 0.0125


def test_p95_has_doubled_only_once_two_windows_in_turn_are_twice_the_first() -> None:
    slow = {7.0: 0.5, 17.0: 0.5, 22.0: 0.5}
    exchanges = [exchange(at_s, latency_s=slow.get(at_s, 0.1)) for at_s in (2.0, 7.0, 12.0, 17.0, 22.0, 27.0)]

    assert ramp(*exchanges, predictions=[(28.0, 0.01)]).doubled_after_s() == 20.0
    assert ramp(*exchanges, predictions=[(14.0, 0.01)]).doubled_after_s() is None


def test_a_load_that_varies_follows_its_points_and_comes_as_often_as_they_say() -> None:
    loop = VariedLoop([(0.0, 10.0), (100.0, 10.0), (200.0, 50.0), (200.001, 10.0)], seed=1, max_connections=4)
    assert [loop.rate_per_s(at_s) for at_s in (0.0, 50.0, 150.0, 300.0)] == [10.0, 10.0, 30.0, 10.0]

    due = []
    while not due or due[-1] < 300.0:
        due.append(loop.draw(0.0))

    counts = [sum(begin <= at_s < begin + 100 for at_s in due) for begin in (0, 100, 200)]
    assert counts == [pytest.approx(1000, rel=0.12), pytest.approx(3000, rel=0.08), pytest.approx(1000, rel=0.12)]


def test_the_plan_goes_on_rising_until_it_is_told_to_fall() -> None:
    plan = Plan(capacity_per_s=100.0, base_s=15.0, rise_s=120.0, stay_s=0.0)
    loop = plan.loop(seed=0)

    assert (plan.falls_at_s, plan.latest_fall_s) == (135.0, 255.0)
    assert [round(loop.rate_per_s(at_s)) for at_s in (0, 15, 75, 135, 195, 255)] == [30, 30, 80, 130, 195, 260]
    loop.fall(195.0, plan.low_per_s)
    assert [round(loop.rate_per_s(at_s)) for at_s in (75, 194.999, 195.1, 300)] == [80, 195, 30, 30]


def test_a_drill_that_kept_every_bar_has_met_all_its_checks() -> None:
    assert all(check.is_met for check in checks_of(SOUND))


@pytest.mark.parametrize(
    "broken",
    [
        {"raised_after_s": {"utilization-high": 60.0}},
        {"raised_after_s": {**SOUND["raised_after_s"], "redis-memory-high": 5.0}},
        {"raised_after_s": {}},
        {"p95_doubled_after_s": 55.0},
        {"predicted_wait_off_percent": 21.0},
        {"clear_after_fall_s": None},
    ],
)
def test_every_bar_that_is_missed_fails_the_drill(broken: dict[str, Any]) -> None:
    assert not all(check.is_met for check in checks_of({**SOUND, **broken}))


def test_the_inbox_keeps_what_is_posted_and_knows_what_stands() -> None:
    with Inbox() as inbox:
        for status in ("raised", "cleared", "raised"):
            payload = {"alert": "no-live-worker", "status": status, "sentence": "x"}
            urllib.request.urlopen(inbox.url, json.dumps(payload).encode()).close()

    first = inbox.first("no-live-worker", True, 0.0)
    assert [one.is_raised for one in inbox.changes] == [True, False, True]
    assert first == inbox.changes[0].at_s
    assert inbox.first("no-live-worker", True, first + 1e-9) == inbox.changes[2].at_s
    assert inbox.standing() == {"no-live-worker"}
