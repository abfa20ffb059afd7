"""The ramp of the drill on alerts: is the alert raised before it hurts? docs/reliability.md has the figures."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from ops.drills.drill import Size, Stage
from ops.drills.figures import Figures
from ops.load.traffic import Traffic

LOAD_ALERTS = ("predicted-wait-long", "utilization-high")
CLEAR_PATIENCE_S = 120.0
BASE_S: Size = (15.0, 13.0)
TOP_S: Size = (135.0, 38.0)
LATEST_S: Size = (255.0, 48.0)
# It goes on rising for as long again where it was no overload: the machine was slower when its peak was measured.
RISE: Size = (
    ((0.0, 0.3), (15.0, 0.3), (135.0, 1.3), (255.0, 2.6)),
    ((0.0, 0.3), (13.0, 0.3), (23.0, 1.3), (38.0, 1.3), (48.0, 2.6)),
)
_MAY_FOLLOW = ("waiting-long", "api-late")  # where the load stays long enough, or the machine has no core left
_WINDOW_S = 5.0


def until_raised(stage: Stage, traffic: Traffic) -> Figures:
    """To the top of the rise, and on until the alerts have come."""
    begun_s, at_s, are_raised = time.monotonic(), 0.0, False
    while at_s < stage.size(TOP_S) or at_s < stage.size(LATEST_S) and not are_raised:
        stage.show(at_s / stage.size(LATEST_S), f"{len(traffic.ended):,} over, {traffic.num_open} open")
        stage.system.pause(0.05)
        at_s, are_raised = time.monotonic() - begun_s, set(LOAD_ALERTS) <= {*stage.monitor.raised_s(begun_s)}
    return {"fell_after_s": round(at_s, 1)}


def until_clear(stage: Stage, traffic: Traffic) -> Figures:
    """Or to the end of the patience."""
    begun_s, at_s = time.monotonic(), 0.0
    while stage.monitor.standing() and at_s < CLEAR_PATIENCE_S:
        stage.system.pause(0.05)
        at_s = time.monotonic() - begun_s
    return {"is_clear": not stage.monitor.standing()}


def compare(stage: Stage) -> Figures:
    """The alerts with the latencies of the rise."""
    ramp, (begun_s, _), base_s = stage.figures["ramp"], stage.windows["ramp"], stage.size(BASE_S)
    raised, changes = stage.monitor.raised_s(begun_s), stage.monitor.changes()
    latencies = [(one.due_s - begun_s, one.latency_s) for one in stage.ended["ramp"] if one.is_ok]
    doubled_s = doubled_after_s(latencies, base_s)
    told_s = raised.get("utilization-high")
    # A p95 that never doubled has doubled after the end.
    lead_s = None if told_s is None else round((doubled_s or ramp["fell_after_s"]) - told_s, 1)
    is_clear = stage.figures["after"]["is_clear"] and changes
    return {
        "raised_after_s": raised,
        "not_raised": [name for name in LOAD_ALERTS if name not in raised],
        "raised_by_the_load": ", ".join(name for name in raised if name not in _MAY_FOLLOW),
        "p95_doubled_after_s": doubled_s,
        "lead_s": lead_s,
        "clear_after_fall_s": round(changes[-1].at_s - begun_s - ramp["fell_after_s"], 1) if is_clear else None,
        "late": sum(ramp["statuses"].get(status, 0) for status in ("503", "504")),
        "sentences": [one.sentence for one in changes],
    }


def doubled_after_s(latencies: Sequence[tuple[float, float]], base_s: float) -> float | None:
    """The end of the first of two windows in turn whose p95 is twice that of the base: that of a single one is a matter
    of luck."""

    def p95_s(begin_s: float, end_s: float) -> float:
        return float(np.percentile([took_s for at_s, took_s in latencies if begin_s <= at_s < end_s] or [0.0], 95))

    high_s = 2 * p95_s(0.0, base_s) or float("inf")
    begins = np.arange(0.0, max((at_s for at_s, _ in latencies), default=0.0), _WINDOW_S).tolist()
    high = [p95_s(begin_s, begin_s + _WINDOW_S) > high_s for begin_s in begins]
    runs = (begin_s for number, begin_s in enumerate(begins) if high[number : number + 2] == [True, True])
    return next((begin_s + _WINDOW_S for begin_s in runs), None)
