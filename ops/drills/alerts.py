"""The drills on alerts and predictions: does the alert come in time, is the predicted wait the one that comes?

In `alerts` the load rises past capacity and falls, and a real monitor watches. In `waits` a Poisson load of 0.5, 0.8
and 0.95 of the peak stays for five minutes each. The engine is slowed, so that neither client nor API is the limit.
docs/operations.md and docs/capacity.md have the figures.
"""

from __future__ import annotations

import statistics
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from ops.drills.drill import (
    ONCE,
    Check,
    Findings,
    Stage,
    answers_per_s,
    at_least,
    at_most,
    equal,
    latency_ms,
    problems_of,
    tally,
)
from ops.drills.inbox import Change, monitored
from ops.drills.system import DRILL_SETTINGS, DrillError, Shape, System
from ops.drills.traffic import ENDLESS, Exchange, Question, Traffic
from ops.drills.workers import calibrate
from ops.load.arrivals import MAX_OPEN_CONNECTIONS, ClosedLoop, VariedLoop
from ops.load.server_timing import queue_s
from ops.observe.scrape import Scrape, ScrapeError, scrape
from ops.tables import table

LOW, HIGH = 0.3, 1.3  # shares of capacity
LOAD_ALERTS = ("predicted-wait-long", "utilization-high")
WINDOW_S = 5.0
_MAY_FOLLOW = ("waiting-long", "api-late")  # where the load stays long enough, or the machine has no core left
_PER_S = 60.0  # what the engine is slowed to, about: at 1.3 of it client and API still have time to spare
_CLIENTS = 128  # of the closed loop that finds the capacity: more than one batch holds
_SETTLE_S = 11.0  # at the low load, until the windows have forgotten that loop; then the monitor begins
_LOOK_EVERY_S = 0.05
_CLEAR_PATIENCE_S = 120.0
_NUM_SUCCESSIVE = 2  # windows; the p95 of a single one is a matter of luck
_FLOOR_S = 0.002  # waits this close to each other are equal: less than an iteration
# Where a machine is too busy for the plan, requests end in an honest 504 before the clients' patience does.
_SETTINGS = replace(DRILL_SETTINGS, result_ttl_s=60, request_timeout_s=20.0)
_HONEST = (503, 504)
_WAITS_PER_S = 100.0
_WAITS_BARS = {0.5: 20.0, 0.8: 20.0, 0.95: 35.0}  # percent, by load
_WAITS_SETTINGS = replace(DRILL_SETTINGS, result_ttl_s=60)
_QUEUE_TIME = "miniserve_request_queue_time_seconds"


def off_percent(predicted_s: float, real_s: float) -> float:
    """0 where they are closer than the floor."""
    difference_s = abs(predicted_s - real_s)
    return 0.0 if difference_s <= _FLOOR_S else round(100 * difference_s / real_s, 1) if real_s else 100.0


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
class Ramp:
    """One ramp as it was seen. Times are seconds since the load began, of `changes` those of time.monotonic."""

    started_s: float
    base_s: float
    exchanges: Sequence[Exchange] = ()
    predictions: list[tuple[float, float]] = field(default_factory=list)  # when /metrics showed it, the wait
    changes: Sequence[Change] = ()
    fell_s: float = 0.0

    def between(self, begin_s: float, end_s: float) -> list[Exchange]:
        return [one for one in self.exchanges if one.is_ok and begin_s <= one.due_s - self.started_s < end_s]

    def waits(self, exchanges: Sequence[Exchange]) -> tuple[float, float]:
        """Means of the latest prediction before each request was due, and of its own wait, over the same requests."""
        pairs = [(self._predicted_s(one), queue_s(one.server_timing)) for one in exchanges]
        both = [(predicted, real) for predicted, real in pairs if predicted is not None and real is not None]
        if not both:
            return 0.0, 0.0
        return statistics.fmean(one for one, _ in both), statistics.fmean(one for _, one in both)

    def _predicted_s(self, exchange: Exchange) -> float | None:
        at = bisect_right(self.predictions, exchange.due_s - self.started_s, key=lambda one: one[0])
        return self.predictions[at - 1][1] if at else None

    def windows(self) -> list[float]:
        last_s = self.predictions[-1][0] if self.predictions else 0.0
        return [WINDOW_S * number for number in range(int(last_s / WINDOW_S) + 1)]

    def doubled_after_s(self) -> float | None:
        """The end of the first window from which on the p95 was twice that of the base."""
        base_ms = latency_ms(self.between(0.0, self.base_s), 95) or float("inf")
        high = [(latency_ms(self.between(at_s, at_s + WINDOW_S), 95) or 0.0) > 2 * base_ms for at_s in self.windows()]
        runs = (
            number for number in range(len(high)) if high[number : number + _NUM_SUCCESSIVE] == [True] * _NUM_SUCCESSIVE
        )
        return next((WINDOW_S * (number + 1) for number in runs), None)

    def figures(self) -> dict[str, Any]:
        raised = {one.alert: round(one.at_s - self.started_s, 1) for one in reversed(self.changes) if one.is_raised}
        is_clear = {one.alert: one.is_raised for one in self.changes} == dict.fromkeys(raised, False)
        clear_s = self.changes[-1].at_s - self.started_s - self.fell_s if self.changes and is_clear else None
        return {
            "p95_doubled_after_s": self.doubled_after_s(),
            "raised_after_s": dict(sorted(raised.items())),
            "load_fell_after_s": round(self.fell_s, 1),
            "clear_after_fall_s": None if clear_s is None else round(clear_s, 1),
            "predicted_wait_off_percent": off_percent(*self.waits(self.between(0.0, self.fell_s))),
            "num_predictions": len(self.predictions),
            "sentences": [one.sentence for one in self.changes],
        }


def alerts(stage: Stage) -> Findings:
    """0.3 to 1.3 of capacity over two minutes, and on until the alerts come. The utilization alert comes before p95 has
    doubled, waits are predicted within 20 %, and all is cleared after the load falls."""
    stage.show(0.0, "finding the number of layers")
    slow, questions = calibrate(_PER_S, _SETTINGS), stage.questions()
    with stage.system(Shape(settings=_SETTINGS, worker_command=slow.command)) as system:
        closed = stage.load(system, questions, ClosedLoop(_CLIENTS), stage.size(20.0, 4.0))
        plan = Plan(answers_per_s(closed), stage.size(15.0, 13.0), stage.size(120.0, 10.0), stage.size(0.0, 15.0))
        ramp = _ramp(stage, system, plan, questions)
    figures = ramp.figures() | {"layers": slow.num_layers, "capacity_per_s": round(plan.capacity_per_s, 1)}
    figures |= {"not_answered": problems_of(ramp.exchanges)}
    outcome = tally(ramp.exchanges, is_honest=lambda one: one.status in _HONEST)
    num_late = sum(one.status in _HONEST for one in ramp.exchanges)
    checks = [equal("lost", outcome.lost, 0), equal("answered too late or refused", num_late, 0), *checks_of(figures)]
    return Findings(outcome, checks, figures)


def _ramp(stage: Stage, system: System, plan: Plan, questions: list[Question]) -> Ramp:
    """Until all is clear again, or the patience is at its end."""
    loop = plan.loop(stage.seed)
    with Traffic(system.urls, questions, loop, ENDLESS, ONCE) as traffic, ExitStack() as stack:
        ramp = Ramp(time.monotonic(), plan.base_s)

        def watch(until_s: float, is_over: Callable[[], bool] = lambda: False) -> float:
            while (elapsed_s := time.monotonic() - ramp.started_s) < until_s and not is_over():
                if not ramp.predictions or elapsed_s - ramp.predictions[-1][0] >= 1.0:
                    with suppress(ScrapeError):  # a machine that has no time left for it
                        wait_s = scrape(system.urls[0]).total("miniserve_predicted_wait_seconds")
                        ramp.predictions.append((time.monotonic() - ramp.started_s, wait_s))
                stage.show(elapsed_s / until_s, f"{len(traffic.ended):,} over, {traffic.num_open} open")
                system.pause(_LOOK_EVERY_S)
            return elapsed_s

        watch(_SETTLE_S)
        inbox = stack.enter_context(monitored(system, _SETTINGS))
        watch(plan.falls_at_s)
        ramp.fell_s = watch(plan.latest_fall_s, lambda: {one.alert for one in inbox.changes} >= set(LOAD_ALERTS))
        loop.fall(ramp.fell_s, plan.low_per_s)
        watch(ramp.fell_s + _CLEAR_PATIENCE_S, lambda: not inbox.standing())
        traffic.send_no_more()
        stage.follow(system, traffic, "the last ones")
        ramp.exchanges, ramp.changes = traffic.ended, tuple(inbox.changes)
    return ramp


def checks_of(found: dict[str, Any]) -> list[Check]:
    raised, doubled_s = found["raised_after_s"], found["p95_doubled_after_s"]
    told_s = raised.get("utilization-high")
    # A p95 that never doubled has doubled after the end.
    lead_s = None if told_s is None else round((doubled_s or found["load_fell_after_s"]) - told_s, 1)
    by_the_load = tuple(name for name in raised if name not in _MAY_FOLLOW)
    return [
        equal("alerts of the load that were not raised", len(set(LOAD_ALERTS) - set(raised)), 0),
        Check("alerts raised by the load", ", ".join(raised), ", ".join(LOAD_ALERTS), by_the_load == LOAD_ALERTS),
        at_least("utilization alert s before p95 doubled", lead_s, 0),
        at_most("predicted wait off by %", found["predicted_wait_off_percent"], 20),
        at_most("all clear s after the load fell", found["clear_after_fall_s"], _CLEAR_PATIENCE_S),
    ]


def waits(stage: Stage) -> Findings:
    """The predicted wait is within 20 % of the measured one at 0.5 and 0.8 of the peak, within 35 % at 0.95."""
    stage.show(0.0, "finding the number of layers")
    shape = Shape(settings=_WAITS_SETTINGS, worker_command=calibrate(_WAITS_PER_S, _WAITS_SETTINGS).command)
    questions, exchanges, rows = stage.questions(), [], []
    with stage.system(shape) as system:
        peak_per_s = answers_per_s(stage.load(system, questions, ClosedLoop(_CLIENTS), stage.size(20.0, 3.0)))
        for load in _WAITS_BARS:
            looks, ended = _steady(stage, system, questions, load * peak_per_s)
            rows.append({"load": load, "offered_per_s": round(load * peak_per_s, 1), **_waits_of(looks)})
            exchanges += ended
    outcome = tally(exchanges, is_honest=lambda one: one.status in _HONEST)
    checks: list[Check] = [equal("lost", outcome.lost, 0)]
    checks += [at_most(f"wait at {row['load']} off by %", row["off_percent"], _WAITS_BARS[row["load"]]) for row in rows]
    shown = table([f">{name.replace('_', ' ')}" for name in rows[0]], [list(row.values()) for row in rows])
    return Findings(outcome, checks, {"peak_per_s": round(peak_per_s, 1), "loads": rows}, shown)


def _steady(
    stage: Stage, system: System, questions: list[Question], offered_per_s: float
) -> tuple[list[Scrape], list[Exchange]]:
    """Send at this rate and read /metrics once a second, once the load is steady."""
    settling_s = stage.size(15.0, 2.0)
    seconds = settling_s + stage.size(300.0, 10.0)
    looks: list[Scrape] = []
    with Traffic(system.urls, questions, stage.open_loop(offered_per_s), habits=ONCE) as traffic:
        started_s = time.monotonic()
        while (elapsed_s := time.monotonic() - started_s) < seconds:
            stage.show(elapsed_s / seconds, f"{offered_per_s:.0f}/s, {len(traffic.ended):,} over")
            if elapsed_s >= settling_s:
                with suppress(ScrapeError):
                    looks.append(scrape(system.urls[0]))
            system.pause(1.0)
        traffic.send_no_more()
        stage.follow(system, traffic, "the last ones")
    return looks, traffic.ended


def _waits_of(looks: list[Scrape]) -> dict[str, Any]:
    """The mean of the predictions, and that of the waits which workers measure. Raises DrillError."""
    if len(looks) < 2:
        raise DrillError("/metrics did not answer under the load: no figures")
    measured = looks[-1].histogram(_QUEUE_TIME).since(looks[0].histogram(_QUEUE_TIME))

    def mean(name: str) -> float:
        return statistics.fmean(look.value(f"miniserve_{name}") or 0.0 for look in looks)

    predicted_s, measured_s = mean("predicted_wait_seconds"), measured.mean or 0.0
    return {
        "measured_ms": round(1e3 * measured_s, 1), "predicted_ms": round(1e3 * predicted_s, 1),
        "off_percent": off_percent(predicted_s, measured_s) if measured.count else None,
        "num_waits": int(measured.count), "utilization": round(mean("utilization"), 3),
        "residual": round(mean("littles_law_residual"), 3),
    }  # fmt: skip
