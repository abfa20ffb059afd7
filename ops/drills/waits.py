"""The drill on predictions: is the predicted wait the one that comes?

A Poisson load of 0.5, 0.8 and 0.95 of what a slowed engine can do, five minutes each. Once a second /metrics is read:
the mean of `miniserve_predicted_wait_seconds` is compared with that of `miniserve_request_queue_time_seconds`, which
workers measure.
"""

from __future__ import annotations

import statistics
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ops.drills.course import Waits
from ops.drills.drill import Check, Findings, Stage, answers_per_s, at_most, count, equal
from ops.drills.random_model import calibrate
from ops.drills.slow_worker import command
from ops.drills.system import DRILL_SETTINGS, DrillError, Shape, System
from ops.drills.traffic import Exchange, Habits, Question, Traffic
from ops.load.arrivals import ClosedLoop
from ops.observe.scrape import Scrape, ScrapeError, scrape

_PER_S = 100.0
_CLIENTS = 128
_BARS = {0.5: 20.0, 0.8: 20.0, 0.95: 35.0}  # percent, by load
_SETTINGS = replace(DRILL_SETTINGS, result_ttl_s=60)
_HONEST = (503, 504)
_QUEUE_TIME = "miniserve_request_queue_time_seconds"


def waits(stage: Stage) -> Findings:
    """The predicted wait is within 20 % of the measured one at 0.5 and 0.8 of the peak, within 35 % at 0.95."""
    stage.show(0.0, "finding the number of layers")
    shape = Shape(settings=_SETTINGS, worker_command=command(calibrate(_PER_S, _SETTINGS)))
    questions, exchanges, rows = stage.questions(), [], []
    with stage.system(shape) as system:
        closed = stage.load(system, questions, ClosedLoop(_CLIENTS), stage.size(20.0, 3.0))
        peak_per_s = answers_per_s(closed.ended)
        for load in _BARS:
            row, ended = _measure(stage, system, questions, load * peak_per_s)
            rows.append({"load": load, **row})
            exchanges += ended
    tally = count(exchanges, lambda one: one.status in _HONEST)
    checks: list[Check] = [equal("lost", tally.lost, 0)]
    checks += [at_most(f"wait at {row['load']} off by %", row["off_percent"], _BARS[row["load"]]) for row in rows]
    return Findings(tally, checks, {"peak_per_s": round(peak_per_s, 1), "loads": rows}, _lines(rows))


def _lines(rows: list[dict[str, Any]]) -> list[str]:
    columns = [[name, *(str(row[name]) for row in rows)] for name in rows[0]]
    widths = [max(map(len, column)) for column in columns]
    return [
        "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True))
        for line in zip(*columns, strict=True)
    ]


def _measure(
    stage: Stage, system: System, questions: list[Question], offered_per_s: float
) -> tuple[dict[str, Any], list[Exchange]]:
    """Send at this rate and watch, once the load is steady. Raises DrillError where /metrics does not answer."""
    settling_s = stage.size(15.0, 2.0)
    seconds = settling_s + stage.size(300.0, 10.0)
    looks: list[Scrape] = []
    with Traffic(system.urls, questions, stage.open_loop(offered_per_s), habits=Habits(retries=False)) as traffic:
        started_s = time.monotonic()
        while (elapsed_s := time.monotonic() - started_s) < seconds:
            stage.show(elapsed_s / seconds, f"{offered_per_s:.0f}/s, {len(traffic.ended):,} over")
            if elapsed_s >= settling_s:
                with suppress(ScrapeError):  # a machine that has no time left for it
                    looks.append(scrape(system.urls[0]))
            system.pause(1.0)
        traffic.send_no_more()
        stage.follow(system, traffic, len(traffic.ended) or 1, "the last ones")
    if len(looks) < 2:
        raise DrillError(f"{system.urls[0]}/metrics did not answer at {offered_per_s:.0f} requests/s: no figures")
    measured = looks[-1].histogram(_QUEUE_TIME).since(looks[0].histogram(_QUEUE_TIME))
    found = Waits(int(measured.count), _mean(looks, "miniserve_predicted_wait_seconds"), measured.mean or 0.0)
    row = {
        "offered_per_s": round(offered_per_s, 1),
        "measured_ms": round(1e3 * found.real_s, 1),
        "predicted_ms": round(1e3 * found.predicted_s, 1),
        "off_percent": found.off_percent,
        "num_waits": found.num,
        "utilization": round(_mean(looks, "miniserve_utilization"), 3),
        "residual": round(_mean(looks, "miniserve_littles_law_residual"), 3),
    }
    return row, traffic.ended


def _mean(looks: list[Scrape], name: str) -> float:
    return statistics.fmean(look.value(name) or 0.0 for look in looks)
