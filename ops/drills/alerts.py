"""The drill on alerts: the load rises past capacity and falls, then all workers are killed; a real monitor watches.

The engine is slowed, so that neither client nor API is the limit. docs/operations.md has the figures.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ops.drills import course as figures
from ops.drills.course import Course, Sample
from ops.drills.drill import Check, Findings, Stage, answers_per_s, at_least, at_most, count, equal, problems_of
from ops.drills.inbox import Inbox, Monitor
from ops.drills.random_model import calibrate
from ops.drills.slow_worker import command
from ops.drills.system import DRILL_SETTINGS, Shape, System
from ops.drills.traffic import ENDLESS, Habits, Question, Traffic
from ops.load.arrivals import MAX_OPEN_CONNECTIONS, ClosedLoop, VariedLoop
from ops.observe.scrape import ScrapeError, scrape
from ops.run.up import why_not_ready

LOW, HIGH = 0.3, 1.3  # shares of capacity
_PER_S = 60.0  # what the engine is slowed to, about: at 1.3 of it client and API still have time to spare
_CLIENTS = 128  # of the closed loop that finds the capacity: more than one batch holds
_SETTLE_S = 11.0  # at the low load, until the windows have forgotten that loop; then the monitor begins
_LOOK_EVERY_S = 0.05
_SAMPLE_EVERY_S = 1.0
_CLEAR_PATIENCE_S = 120.0
_OUTAGE_PATIENCE_S = 20.0
LOAD_ALERTS = ("predicted-wait-long", "utilization-high")
_MAY_FOLLOW = ("waiting-long", "api-late")  # where the load stays long enough, or the machine has no core left
# Where a machine is too busy for the plan, requests end in an honest 504 before the clients' patience does.
_SETTINGS = replace(DRILL_SETTINGS, result_ttl_s=60, request_timeout_s=20.0)
_HONEST = (503, 504)


@dataclass(frozen=True, slots=True)
class Plan:
    """Times of the load, in seconds."""

    capacity_per_s: float
    base_s: float
    rise_s: float
    stay_s: float

    @property
    def low_per_s(self) -> float:
        return LOW * self.capacity_per_s

    @property
    def falls_at_s(self) -> float:
        return self.base_s + self.rise_s + self.stay_s

    @property
    def latest_fall_s(self) -> float:
        """The load goes on rising until then where it was no overload: the machine was slower when it was measured."""
        return self.falls_at_s + self.rise_s

    def loop(self, seed: int) -> VariedLoop:
        high, top_s = HIGH * self.capacity_per_s, self.base_s + self.rise_s
        points = [(0.0, self.low_per_s), (self.base_s, self.low_per_s), (top_s, high), (self.falls_at_s, high)]
        return VariedLoop([*points, (self.latest_fall_s, 2 * high)], seed, MAX_OPEN_CONNECTIONS)


@dataclass(slots=True)
class _Watching:
    """What is looked at while the load goes on."""

    stage: Stage
    system: System
    traffic: Traffic
    started_s: float
    samples: list[Sample] = field(default_factory=list)
    num_missed: int = 0

    def elapsed_s(self) -> float:
        return time.monotonic() - self.started_s

    def until(self, until_s: float, is_over: Callable[[], bool] = lambda: False) -> None:
        """Of the load's seconds; ends sooner where it is over."""
        while (elapsed_s := self.elapsed_s()) < until_s and not is_over():
            self._sample(elapsed_s)
            self.stage.show(elapsed_s / until_s, f"{len(self.traffic.ended):,} over, {self.traffic.num_open} open")
            self.system.pause(_LOOK_EVERY_S)

    def _sample(self, at_s: float) -> None:
        if not self.samples or at_s - self.samples[-1].at_s >= _SAMPLE_EVERY_S:
            try:
                seen = scrape(self.system.urls[0])
            except ScrapeError:  # a machine that has no time left for it
                self.num_missed += 1
                return
            used, wait_s = seen.total("miniserve_utilization"), seen.total("miniserve_predicted_wait_seconds")
            self.samples.append(Sample(self.elapsed_s(), used, wait_s))


def alerts(stage: Stage) -> Findings:
    """0.3 to 1.3 of capacity over two minutes, and on until the alerts come. The utilization alert comes before p95 has
    doubled, waits are predicted within 20 %, all is cleared after the load falls; a missing worker is reported, and
    /readyz 503, within 3 s."""
    stage.show(0.0, "finding the number of layers")
    slow = calibrate(_PER_S, _SETTINGS)
    questions = stage.questions()
    with stage.system(Shape(settings=_SETTINGS, worker_command=command(slow))) as system, Inbox() as inbox:
        closed = stage.load(system, questions, ClosedLoop(_CLIENTS), stage.size(20.0, 4.0))
        plan = Plan(answers_per_s(closed.ended), stage.size(15.0, 13.0), stage.size(120.0, 10.0), stage.size(0.0, 15.0))
        course, fell_s, monitor = _ramp(stage, system, inbox, plan, questions)
        try:
            outage = _outage(system, inbox)
        finally:
            status = monitor.stop()
    found = {"layers": slow.num_layers, "capacity_per_s": round(plan.capacity_per_s, 1)}
    found |= _ramp_figures(course, plan.base_s, fell_s) | outage | {"monitor_exit_status": status}
    found["not_answered"] = problems_of(course.exchanges)
    found["rows"] = figures.rows(course, course.samples[-1].at_s)
    tally = count(course.exchanges, lambda one: one.status in _HONEST)
    num_late = sum(one.status in _HONEST for one in course.exchanges)
    checks = [equal("lost", tally.lost, 0), equal("answered too late or refused", num_late, 0), *checks_of(found)]
    return Findings(tally, checks, found, figures.lines(found["rows"], found["waits"]))


def _ramp(
    stage: Stage, system: System, inbox: Inbox, plan: Plan, questions: list[Question]
) -> tuple[Course, float, Monitor]:
    """Until all is clear again, or the patience is at its end; with the second at which the load fell."""
    loop = plan.loop(stage.seed)
    with Traffic(system.urls, questions, loop, ENDLESS, Habits(retries=False)) as traffic:
        watching = _Watching(stage, system, traffic, time.monotonic())
        watching.until(_SETTLE_S)
        monitor = Monitor(system, inbox, _SETTINGS)
        watching.until(plan.falls_at_s)
        watching.until(plan.latest_fall_s, lambda: {one.alert for one in inbox.changes} >= set(LOAD_ALERTS))
        fell_s = watching.elapsed_s()
        loop.fall(fell_s, plan.low_per_s)
        watching.until(fell_s + _CLEAR_PATIENCE_S, lambda: not inbox.standing())
        traffic.send_no_more()
        while not traffic.is_over:
            system.pause(_LOOK_EVERY_S)
    course = Course(
        traffic.ended, watching.samples, tuple(inbox.changes), watching.started_s,
        lambda at_s: loop.rate_per_s(at_s) / plan.capacity_per_s, watching.num_missed,
    )  # fmt: skip
    return course, fell_s, monitor


def _outage(system: System, inbox: Inbox) -> dict[str, Any]:
    """All workers are killed, and come back."""
    url, killed_s = system.urls[0], time.monotonic()
    for worker in system.workers:
        system.take_away(worker)
    told_s = unready_s = None
    while time.monotonic() - killed_s < _OUTAGE_PATIENCE_S and (told_s is None or unready_s is None):
        told_s = told_s or inbox.first("no-live-worker", True, killed_s)
        if unready_s is None and why_not_ready(url) is not None:
            unready_s = time.monotonic()
        system.pause(_LOOK_EVERY_S / 5)
    for worker in system.workers:
        worker.start()
        worker.is_kept = True
    system.wait_until(lambda: why_not_ready(url) is None, 60.0, "ready again")
    back_s = time.monotonic()
    system.wait_until(lambda: not inbox.standing(), _OUTAGE_PATIENCE_S, "all clear after the outage")
    return {
        "no_worker_told_after_s": None if told_s is None else round(told_s - killed_s, 2),
        "unready_after_s": None if unready_s is None else round(unready_s - killed_s, 2),
        "clear_after_return_s": round(time.monotonic() - back_s, 2),
    }


def _ramp_figures(course: Course, base_s: float, fell_s: float) -> dict[str, Any]:
    base_ms, doubled_s = figures.doubled_after_s(course, base_s, course.samples[-1].at_s)
    raised = {one.alert: one.at_s - course.started_s for one in reversed(course.changes) if one.is_raised}
    last_s = max((one.at_s - course.started_s for one in course.changes), default=None)
    is_clear = {one.alert: one.is_raised for one in course.changes} == dict.fromkeys(raised, False)
    return {
        "samples": {"made": len(course.samples), "missed": course.num_missed},
        "base_p95_ms": base_ms,
        "p95_doubled_after_s": doubled_s,
        "raised_after_s": {alert: round(at_s, 1) for alert, at_s in sorted(raised.items())},
        "load_fell_after_s": round(fell_s, 1),
        "clear_after_fall_s": round(last_s - fell_s, 1) if is_clear and last_s is not None else None,
        "waits": figures.by_band(course, fell_s),
        "predicted_wait_off_percent": course.waits(course.between(0.0, fell_s)).off_percent,
        "sentences": [one.sentence for one in course.changes],
    }


def checks_of(found: dict[str, Any]) -> list[Check]:
    raised, doubled_s = found["raised_after_s"], found["p95_doubled_after_s"]
    told_s = raised.get("utilization-high")
    # A p95 that never doubled has doubled after the end.
    lead_s = None if told_s is None else round((doubled_s or found["load_fell_after_s"]) - told_s, 1)
    return [
        equal("alerts of the load that were not raised", len(set(LOAD_ALERTS) - set(raised)), 0),
        Check(
            "alerts raised by the load",
            ", ".join(raised),
            ", ".join(LOAD_ALERTS),
            tuple(name for name in raised if name not in _MAY_FOLLOW) == LOAD_ALERTS,
        ),
        at_least("utilization alert s before p95 doubled", lead_s, 0),
        at_most("predicted wait off by %", found["predicted_wait_off_percent"], 20),
        at_most("all clear s after the load fell", found["clear_after_fall_s"], _CLEAR_PATIENCE_S),
        at_most("no-live-worker raised after s", found["no_worker_told_after_s"], 3),
        at_most("unready after s", found["unready_after_s"], 3),
        equal("monitor's exit status", found["monitor_exit_status"], 0),
    ]
