"""`bench plan` without its servers: predictions, errors, the figure; and the day's figure from its file."""

from __future__ import annotations

import time
from collections import namedtuple
from pathlib import Path

import pytest

from ops.bench import prediction, simulated_day
from ops.load.arrivals import OpenLoop
from ops.load.connection import Reply, Target
from ops.load.generator import _InFlight
from ops.plan import calibrate, measuring
from ops.plan.autoscaling import RULES
from ops.plan.calibrate import Measured
from ops.plan.fit import MeasuredLoad
from tests.known_costs import COSTS, SENTENCES

PNG = b"\x89PNG"
scpu = namedtuple("scpu", "user idle")


@pytest.fixture(autouse=True)
def few_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "_LEAST_SIMULATED", 600)


TIMES_S = [0.004, 0.005, 0.009]


def sitting(*slow: float) -> prediction._Sitting:
    """A turn between each two calibrations, of a machine that is so many times as slow as usual in each."""
    calibrations = [measured(factor) for factor in slow]
    return prediction._Sitting(calibrations, [[prediction.Turn(TIMES_S, 3, 0.0)] for _ in slow[1:]])


def measured(factor: float) -> Measured:
    cpu_s = {"api": 0.001 * factor, "worker": 0.002 * factor}
    loads = [MeasuredLoad(clients, 1.0, 100, 10.0, 0.1, 0.2, cpu_s, {"n": 1.0}) for clients in (1, 8, 64)]
    return Measured([], loads, [SENTENCES] * 3, 2000.0, 2, COSTS.handoff)


def rows_of(monkeypatch: pytest.MonkeyPatch, *slow: float) -> list[dict[str, object]]:
    monkeypatch.setattr(prediction.calibrate, "calibration_of", lambda _: COSTS)
    kind = prediction._Kind("sentences", ["He goed."], SENTENCES)
    return list(prediction._rows(1, sitting(*slow), [prediction._Load(kind, 300.0)]))


def test_a_row_has_the_latencies_of_all_turns_and_the_error_is_relative(monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = rows_of(monkeypatch, 1.0, 1.0, 1.0)

    assert (row["requests"], row["not_ok"], row["p50_ms"]) == (6, 0, 5.0)
    assert row["p50_error"] == pytest.approx(row["p50_predicted_ms"] / 5.0 - 1, abs=1e-3)


def test_a_turn_is_predicted_with_the_speed_of_the_calibrations_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the turns were twice as slow as the others: more of the requests are late, and the mean is the same."""
    (steady,) = rows_of(monkeypatch, 1.0, 1.0, 1.0, 1.0)
    (uneven,) = rows_of(monkeypatch, 0.5, 0.5, 1.5, 1.5)

    assert uneven["slowest"] == pytest.approx(3 * uneven["fastest"])
    assert uneven["p95_predicted_ms"] > 1.3 * steady["p95_predicted_ms"]


def test_turns_of_a_calibration_count_alike() -> None:
    one, *_, other = calibrate.together([measured(1.0), measured(3.0)]).loads

    assert one.cpu_s == pytest.approx({"api": 0.002, "worker": 0.004})
    assert (one.num_requests, other.clients) == (200, 64)


def test_the_summary_shows_every_run_and_the_median_errors_beside_their_bars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*rows_of(monkeypatch, 1.0, 1.0), *rows_of(monkeypatch, 1.0, 1.2)]

    lines = prediction.summary(rows)

    (line,) = [line for line in lines if "sentences" in line]
    for row in rows:
        assert f"{100 * row['p95_error']:+.0f}" in line
    assert any("p95: median error" in line and "bar 20%" in line for line in lines)
    (path,) = prediction.draw(rows, tmp_path)
    assert path.read_bytes().startswith(PNG)


def test_what_other_programs_use_is_what_ours_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two cores for one second 1.5 s are used, 1.2 of them by us."""
    times = iter([scpu(user=0.0, idle=0.0), scpu(user=1.5, idle=0.5)])
    now = iter([10.0, 11.0])
    monkeypatch.setattr(measuring.psutil, "cpu_times", lambda: next(times))
    monkeypatch.setattr(measuring.psutil, "cpu_count", lambda: 2)
    monkeypatch.setattr(measuring.time, "monotonic", lambda: next(now))

    assert measuring.Machine().used_by_others(1.2) == pytest.approx(0.15)


def test_a_steady_load_leaves_out_what_was_due_in_its_beginning() -> None:
    load = measuring.SteadyLoad(Target("127.0.0.1", 1, b""), ["He goed."], OpenLoop(10.0, 1, 8), 1.0, 2.0)
    load._started_s = time.monotonic() - 2.0

    for due_s in (0.2, 0.9, 1.1):
        load._answered(_InFlight(due_s=load._started_s + due_s, sentence="He goed."), Reply(200, b"{}"))

    assert (load.num_answered, len(load.measurements.latencies_s)) == (3, 1)


def test_the_figure_of_the_day_has_both_rules(tmp_path: Path) -> None:
    rows = [
        {"rule": rule, "hour": minute / 60, "offered": 600, "refused": minute % 3, "retried": 0, "answered": 600,
         "within": 590, "p95_s": 4.0, "workers": 8, "open": 30, "cpu_s": 40.0}
        for rule in RULES for minute in range(60)
    ]  # fmt: skip

    lines = simulated_day.summary(rows)

    assert all(any(rule in line for line in lines) for rule in RULES)
    (path,) = simulated_day.draw(rows, tmp_path)
    assert path.read_bytes().startswith(PNG)
