"""When alerts are raised and cleared, and what they say."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from scheduler.capacity.alerts import Alerts, Change
from scheduler.capacity.measure import Capacity
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.capacity.rules import ASSUMED_MAX_MEMORY_BYTES, Rule, Severity, rules
from scheduler.settings import Settings
from worker.queue.connection import script_sources

SETTINGS = Settings()
WELL = Observed(now=Moment(at_s=0.0), workers=(WorkerFacts("a"),), num_api_replicas=1)
CALM = Capacity(utilization=0.3, predicted_wait_s=0.01, residual=0.01)


class Clock:
    """Looks at one situation again and again, half a second apart."""

    def __init__(self) -> None:
        self.alerts = Alerts(SETTINGS)
        self.now = 1000.0

    def hold(self, observed: Observed | None, capacity: Capacity | None, seconds: float) -> list[Change]:
        changes = []
        for _ in range(round(2 * seconds)):
            changes += self.alerts.evaluate(observed, capacity, self.now)
            self.now += 0.5
        return changes


def rule(name: str, settings: Settings = SETTINGS) -> Rule:
    return next(one for one in rules(settings) if one.name == name)


def steady(observed: Observed = WELL, residual: float = 0.0, num_ended: int = 600) -> tuple[Observed, Capacity]:
    """600 came within the minute."""
    moments = Moment(at_s=0.0), Moment(at_s=60.0, accepted=600, ended=num_ended)
    return replace(observed, history=moments[:1], now=moments[1]), replace(CALM, residual=residual)


def ended(done: int, failed: int) -> tuple[Observed, Capacity]:
    """So many within the last ten seconds."""
    moments = Moment(at_s=0.0), Moment(at_s=10.0, ended=done + failed, done=done, failed=failed)
    return replace(WELL, history=moments[:1], now=moments[1]), CALM


def replied(replies: int, errors: int) -> tuple[Observed, Capacity]:
    """So many HTTP answers with 2xx and 5xx within the last ten seconds."""
    moments = Moment(at_s=0.0), Moment(at_s=10.0, replies=replies, errors=errors)
    return replace(WELL, history=moments[:1], now=moments[1]), CALM


def late(mean_s: float) -> tuple[Observed, Capacity]:
    moments = Moment(at_s=0.0), Moment(at_s=5.0, loop_ticks=40, loop_late_s=40 * mean_s)
    return replace(WELL, history=moments[:1], now=moments[1]), CALM


def situation(name: str) -> tuple[Observed | None, Capacity | None]:
    """One in which this rule alone is broken."""
    return {
        "redis-unreachable": (None, None),
        "no-live-worker": (replace(WELL, workers=()), CALM),
        "redis-refuses-writes": (replace(WELL, workers=(), redis_refuses="MISCONF Redis is configured to save"), CALM),
        "foreign-worker": (replace(WELL, foreign_workers=("host.12",)), CALM),
        "no-live-api": (replace(WELL, num_api_replicas=0), CALM),
        "no-progress": (replace(WELL, num_waiting=2, oldest_waiting_s=3.5), CALM),
        "answers-failing": ended(done=94, failed=6),
        "redis-evicts": (replace(WELL, redis_max_memory_bytes=100, redis_policy="allkeys-lru"), CALM),
        "waiting-long": (replace(WELL, num_waiting=2, num_running=1, oldest_waiting_s=2.5), CALM),
        "api-late": late(0.11),
        "tokens-leaked": (replace(WELL, workers=(WorkerFacts("a", num_running=1, reserved_tokens=200),)), CALM),
        "predicted-wait-long": (WELL, replace(CALM, predicted_wait_s=0.51)),
        "utilization-high": (WELL, replace(CALM, utilization=0.81)),
        "redis-memory-high": (replace(WELL, redis_memory_bytes=81, redis_max_memory_bytes=100), CALM),
        "dead-letters-growing": (replace(WELL, dead_letters=1), CALM),
        "littles-law-broken": steady(residual=0.11),
    }[name]


def clear_situation(name: str) -> tuple[Observed, Capacity]:
    return steady() if name == "littles-law-broken" else (WELL, CALM)


@pytest.mark.parametrize("name", [one.name for one in rules(SETTINGS)])
def test_a_rule_is_raised_once_after_its_time_and_cleared_once_after_its_other(name: str) -> None:
    clock, bars = Clock(), rule(name).bars
    clock.hold(*clear_situation(name), 5)

    before = clock.hold(*situation(name), bars.raise_after_s)
    raised = clock.hold(*situation(name), 120)
    early = clock.hold(*clear_situation(name), bars.clear_after_s)
    cleared = clock.hold(*clear_situation(name), 700)

    assert (before, early) == ([], [])
    assert [(one.alert.rule.name, one.is_raised) for one in raised + cleared] == [(name, True), (name, False)]
    assert clock.alerts.raised == ()


@pytest.mark.parametrize("name", [one.name for one in rules(SETTINGS)])
def test_every_sentence_names_value_limit_and_remedy(name: str) -> None:
    clock = Clock()
    clock.hold(*clear_situation(name), 5)

    (change,) = clock.hold(*situation(name), 60)

    sentence = change.alert.sentence
    assert ": " in sentence and sentence.endswith(".") and "{" not in sentence
    assert any(letter.isdigit() for letter in sentence) or name == "redis-unreachable"
    assert change.alert.rule.runbook == f"docs/operations.md#{name}"


def test_a_worker_that_is_gone_is_told_at_the_first_look() -> None:
    alerts = Alerts(SETTINGS)
    alerts.evaluate(WELL, CALM, 0.0)

    (change,) = alerts.evaluate(replace(WELL, workers=()), CALM, 0.5)

    assert (change.alert.rule.name, change.alert.rule.severity) == ("no-live-worker", Severity.CRITICAL)


def test_while_no_worker_is_live_nobody_is_told_to_add_one_a_second_time() -> None:
    clock, overloaded = Clock(), replace(CALM, utilization=2.0, predicted_wait_s=30.0)
    clock.hold(WELL, CALM, 5)

    changes = clock.hold(replace(WELL, workers=()), overloaded, 60)

    assert [change.alert.rule.name for change in changes] == ["no-live-worker"]


def test_a_system_that_is_being_started_has_ten_seconds_for_its_first_worker() -> None:
    clock, no_worker = Clock(), (replace(WELL, workers=()), replace(CALM, predicted_wait_s=30.0))

    assert clock.hold(*no_worker, 10) == []
    assert [change.alert.rule.name for change in clock.hold(*no_worker, 4)] == ["no-live-worker"]


def test_after_an_outage_of_redis_workers_have_ten_seconds_to_come_back() -> None:
    clock, no_worker = Clock(), (replace(WELL, workers=()), replace(CALM, predicted_wait_s=30.0))
    clock.hold(WELL, CALM, 5)
    clock.hold(None, None, 20)

    back, later = clock.hold(*no_worker, 9.5), clock.hold(*no_worker, 4)

    assert [(change.alert.rule.name, change.is_raised) for change in back] == [("redis-unreachable", False)]
    assert [change.alert.rule.name for change in later] == ["no-live-worker"]


def test_an_answer_of_redis_that_is_missed_once_hides_no_missing_worker() -> None:
    clock = Clock()
    clock.hold(WELL, CALM, 5)
    clock.hold(None, None, 0.5)

    (change,) = clock.hold(replace(WELL, workers=()), CALM, 0.5)

    assert change.alert.rule.name == "no-live-worker"


def test_a_value_that_trembles_about_the_limit_raises_nothing() -> None:
    clock, changes, bars = Clock(), [], rule("utilization-high").bars
    for _ in range(30):
        changes += clock.hold(WELL, replace(CALM, utilization=0.85), bars.raise_after_s)
        changes += clock.hold(WELL, replace(CALM, utilization=0.79), 1)

    assert changes == []


def test_a_raised_alert_stays_between_its_two_bars() -> None:
    clock = Clock()
    clock.hold(WELL, replace(CALM, utilization=0.9), 10)

    between = clock.hold(WELL, replace(CALM, utilization=0.75), 600)

    assert between == []
    assert [alert.rule.name for alert in clock.alerts.raised] == ["utilization-high"]
    assert clock.alerts.raised[0].value == 0.75


def test_while_redis_is_away_the_other_alerts_stay_as_they_are() -> None:
    clock = Clock()
    clock.hold(WELL, replace(CALM, utilization=0.9), 10)

    changes = clock.hold(None, None, 600)

    assert [change.alert.rule.name for change in changes] == ["redis-unreachable"]
    assert {alert.rule.name for alert in clock.alerts.raised} == {"utilization-high", "redis-unreachable"}


def test_time_without_knowledge_does_not_count_towards_an_alert() -> None:
    clock = Clock()
    high, bars = replace(CALM, utilization=0.9), rule("utilization-high").bars
    clock.hold(WELL, high, bars.raise_after_s)
    clock.hold(None, None, 0.5)

    assert clock.hold(WELL, high, bars.raise_after_s) == []


def test_dead_letters_of_before_the_first_look_are_no_news() -> None:
    clock = Clock()

    assert clock.hold(replace(WELL, dead_letters=7), CALM, 700) == []
    assert [change.is_raised for change in clock.hold(replace(WELL, dead_letters=8), CALM, 5)] == [True]


def test_new_dead_letters_are_counted_from_the_fewest_of_the_last_ten_minutes() -> None:
    clock = Clock()
    clock.hold(replace(WELL, dead_letters=5), CALM, 10)
    clock.hold(replace(WELL, dead_letters=2), CALM, 10)  # an operator dropped three

    (raised,) = clock.hold(replace(WELL, dead_letters=4), CALM, 500)
    (cleared,) = clock.hold(replace(WELL, dead_letters=4), CALM, 200)

    assert raised.alert.value == 2
    assert "2 new dead letters" in raised.alert.sentence
    assert not cleared.is_raised


def test_a_redis_without_a_limit_counts_as_one_of_a_gibibyte() -> None:
    nearly, over = (replace(WELL, redis_memory_bytes=int(share * ASSUMED_MAX_MEMORY_BYTES)) for share in (0.69, 0.71))

    assert Clock().hold(nearly, CALM, 60) == []
    assert len(Clock().hold(over, CALM, 60)) == 1


def test_memory_raises_its_alert_before_requests_are_refused_for_it() -> None:
    refused_above = re.search(r"MEMORY_SHARE, KEPT_SHARE = (\d) / (\d), 1 / 2", script_sources()["enqueue"])
    (rule,) = [rule for rule in rules(SETTINGS) if rule.name == "redis-memory-high"]

    assert rule.bars.raise_above < int(refused_above[1]) / int(refused_above[2])


@pytest.mark.parametrize("num_ended", [560, 640])
def test_a_residual_says_nothing_while_the_queue_grows_or_drains(num_ended: int) -> None:
    assert Clock().hold(*steady(residual=0.5, num_ended=num_ended), 300) == []
    assert len(Clock().hold(*steady(residual=0.5, num_ended=590), 300)) == 1


def test_a_residual_of_a_few_requests_says_nothing() -> None:
    few = replace(WELL, history=(Moment(at_s=0.0),), now=Moment(at_s=60.0, accepted=99, ended=99))

    assert Clock().hold(few, replace(CALM, residual=0.5), 300) == []


def test_the_remedy_says_how_many_workers_are_missing() -> None:
    (change,) = Clock().hold(WELL, replace(CALM, utilization=1.9, workers_needed=3), 10)

    assert all(part in change.alert.sentence for part in ("190%", "80%", "add 2 workers", "3 needed, 1 live"))


def test_the_limit_of_the_wait_is_the_goal_of_the_settings() -> None:
    (change,) = Clock().hold(WELL, replace(CALM, predicted_wait_s=1.25, workers_needed=2), 10)

    assert all(part in change.alert.sentence for part in ("1.25 s", "0.5 s", "add 1 worker (2 needed, 1 live)"))
    assert rule("predicted-wait-long", replace(SETTINGS, slo_ms=2000)).bars.raise_above == 2.0
