"""When alerts are raised and cleared, and what they say."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from scheduler.capacity.alerts import Alerts, Change
from scheduler.capacity.measure import Capacity
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.capacity.rules import ASSUMED_MAX_MEMORY_BYTES, Rule, rules
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
def test_a_rule_is_raised_once_after_its_time_with_value_limit_and_remedy_and_cleared_once(name: str) -> None:
    clock, bars = Clock(), rule(name).bars
    clock.hold(*clear_situation(name), 5)

    before = clock.hold(*situation(name), bars.raise_after_s)
    raised = clock.hold(*situation(name), 120)
    early = clock.hold(*clear_situation(name), bars.clear_after_s)
    cleared = clock.hold(*clear_situation(name), 700)

    assert (before, early) == ([], [])
    assert [(one.rule.name, one.is_raised) for one in raised + cleared] == [(name, True), (name, False)]
    sentence = raised[0].sentence
    assert ": " in sentence and sentence.endswith(".") and "{" not in sentence
    assert any(letter.isdigit() for letter in sentence) or name == "redis-unreachable"
    assert raised[0].rule.runbook == f"docs/operations.md#{name}"


NO_WORKER = replace(WELL, workers=())
BUSY = replace(CALM, utilization=0.9)
AWAY = (None, None)
JUST_SHORT_S = rule("utilization-high").bars.raise_after_s
FEW = replace(WELL, history=(Moment(at_s=0.0),), now=Moment(at_s=60.0, accepted=99, ended=99))
SCENARIOS: dict[str, list[tuple[object, object, float, str]]] = {
    "a worker that is gone is reported at the first look": [
        (WELL, CALM, 0.5, ""), (NO_WORKER, CALM, 0.5, "+no-live-worker")],
    "while no worker is live nobody is told to add one a second time": [
        (WELL, CALM, 5, ""), (NO_WORKER, replace(CALM, utilization=2.0, predicted_wait_s=30.0), 60, "+no-live-worker")],
    "a system that is being started has ten seconds for its first worker": [
        (NO_WORKER, CALM, 10, ""), (NO_WORKER, CALM, 4, "+no-live-worker")],
    "after an outage of Redis workers have ten seconds to come back": [
        (WELL, CALM, 5, ""), (*AWAY, 20, "+redis-unreachable"), (NO_WORKER, CALM, 9.5, "-redis-unreachable"),
        (NO_WORKER, CALM, 4, "+no-live-worker")],
    "an answer of Redis that is missed once hides no missing worker": [
        (WELL, CALM, 5, ""), (*AWAY, 0.5, ""), (NO_WORKER, CALM, 0.5, "+no-live-worker")],
    "a value that trembles about the limit raises nothing": [
        (WELL, BUSY, JUST_SHORT_S, ""), (WELL, replace(CALM, utilization=0.79), 1, "")] * 30,
    "while Redis is away the other alerts stay as they are": [
        (WELL, BUSY, 10, "+utilization-high"), (*AWAY, 600, "+redis-unreachable"),
        (WELL, BUSY, 60, "-redis-unreachable")],
    "time without knowledge does not count towards an alert": [
        (WELL, BUSY, JUST_SHORT_S, ""), (*AWAY, 0.5, ""), (WELL, BUSY, JUST_SHORT_S, "")],
    "dead letters of before the first look are no news": [
        (replace(WELL, dead_letters=7), CALM, 700, ""),
        (replace(WELL, dead_letters=8), CALM, 5, "+dead-letters-growing")],
    "new dead letters are counted from the fewest of the last ten minutes": [
        (replace(WELL, dead_letters=5), CALM, 10, ""), (replace(WELL, dead_letters=2), CALM, 10, ""),
        (replace(WELL, dead_letters=4), CALM, 500, "+dead-letters-growing"),
        (replace(WELL, dead_letters=4), CALM, 200, "-dead-letters-growing")],
    "a Redis without a limit counts as one of a gibibyte": [
        (replace(WELL, redis_memory_bytes=int(0.69 * ASSUMED_MAX_MEMORY_BYTES)), CALM, 60, ""),
        (replace(WELL, redis_memory_bytes=int(0.71 * ASSUMED_MAX_MEMORY_BYTES)), CALM, 60, "+redis-memory-high")],
    "a residual says nothing while the queue grows or drains": [
        (*steady(residual=0.5, num_ended=560), 300, ""), (*steady(residual=0.5, num_ended=640), 300, ""),
        (*steady(residual=0.5, num_ended=590), 300, "+littles-law-broken")],
    "a raised alert stays between its two bars": [
        (WELL, BUSY, 10, "+utilization-high"), (WELL, replace(CALM, utilization=0.75), 600, "")],
    "a residual of a few requests says nothing": [(FEW, replace(CALM, residual=0.5), 300, "")],
}  # fmt: skip


@pytest.mark.parametrize("name", SCENARIOS)
def test_alerts_are_raised_and_cleared_as_the_scenario_says(name: str) -> None:
    clock = Clock()
    for observed, capacity, seconds, expected in SCENARIOS[name]:
        changes = clock.hold(observed, capacity, seconds)

        assert " ".join(f"{'-+'[one.is_raised]}{one.rule.name}" for one in changes) == expected


def test_memory_raises_its_alert_before_requests_are_refused_for_it() -> None:
    refused_above = re.search(r"MEMORY_SHARE, KEPT_SHARE = (\d) / (\d), 1 / 2", script_sources()["enqueue"])
    (rule,) = [rule for rule in rules(SETTINGS) if rule.name == "redis-memory-high"]

    assert rule.bars.raise_above < int(refused_above[1]) / int(refused_above[2])


@pytest.mark.parametrize(
    ("capacity", "told"),
    [
        (replace(CALM, utilization=1.9, workers_needed=3), ["190%", "80%", "add 2 workers", "3 needed, 1 live"]),
        (replace(CALM, predicted_wait_s=1.25, workers_needed=2), ["1.25 s", "0.5 s", "add 1 worker (2 needed"]),
    ],
)
def test_the_remedy_says_how_many_workers_are_missing(capacity: Capacity, told: list[str]) -> None:
    (change,) = Clock().hold(WELL, capacity, 10)

    assert [part for part in told if part not in change.sentence] == []


def test_the_limit_of_the_wait_is_the_goal_of_the_settings() -> None:
    assert rule("predicted-wait-long", replace(SETTINGS, slo_ms=2000)).bars.raise_above == 2.0
