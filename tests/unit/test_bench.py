"""The experiments without their servers: what is counted, what is drawn, what is refused."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner, Result

from ops.bench import engine, experiment, occupancy, peers, static_sweep, system
from ops.bench.command import EXPERIMENTS, bench
from ops.bench.experiment import Case, Plan, Row, as_columns, medians, read_rows, write_rows
from ops.load.measurements import Measurements
from ops.plan.mix import SentenceSize
from scheduler.batching import BatchLimits
from tests.mailbox_house import eventually

BURN = "while True: pass"
BENCHMARKS = (Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md").read_text(encoding="utf-8")


@pytest.fixture
def no_servers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The labels of all cases in the order in which they are served; nothing is started."""
    served: list[str] = []

    def serving(case: Case) -> nullcontext[system.System]:
        served.append(case.label)
        return nullcontext(system.System("http://127.0.0.1:1", os.getpid(), {"mean_prefill_batch": 7}))

    def measure(_: object) -> Measurements:
        one = Measurements([0.1 + number / 100 for number in range(20)], elapsed_s=2.0)
        one.statuses[200] = 20
        return one

    monkeypatch.setattr(Case, "serving", serving)
    monkeypatch.setattr(experiment, "measure", measure)
    monkeypatch.setattr(peers, "_peers", lambda: [Case("mosec, 1 worker", {"server": "mosec, 1 worker"})])
    monkeypatch.setattr(engine, "SLOTS", (1, 2))
    return served


def run(*arguments: object) -> Result:
    return CliRunner().invoke(bench, list(map(str, arguments)))


@pytest.mark.parametrize(
    ("policy", "outputs", "states"),
    [
        ("static", (1, 3, 1), ["token", "token", "idle", "token", "idle", "token", "token", "idle"]),
        ("fixed length", (1, 1, 1), ["token"] * 2 + ["waste"] * 62 + ["token", "idle"]),
        ("continuous", (1, 3, 2, 2, 2), ["token"] * 8),
    ],
)
def test_a_place_is_empty_or_wasted_until_the_policy_lets_another_request_in(
    policy: str, outputs: tuple[int, ...], states: list[str]
) -> None:
    """By iteration and place. Of a static batch of two, a place waits for its longest member."""
    policies = occupancy.policies(BatchLimits(4096, 2, 512))

    rows = occupancy.occupancy(policies[policy], [SentenceSize(4, output) for output in outputs])

    assert [(row["iteration"], row["slot"]) for row in rows] == [divmod(number, 2) for number in range(len(states))]
    assert [row["state"] for row in rows] == states


def test_modes_takes_the_setting_of_the_newest_sweep_with_the_highest_median(
    no_servers: list[str], tmp_path: Path
) -> None:
    newest = ((32, 10), (8, 50), (8, 60), (8, 900), (16, 70), (16, 80), (16, 75))
    for day, rates in (("2026-01-01", ((4, 999),)), ("2026-01-02", newest)):
        (tmp_path / f"{day}-static-sweep").mkdir()
        about: Row = {"mode": "static", "max_wait_ms": 10.0}
        rows = [about | {"max_batch": batch, "throughput_per_s": rate} for batch, rate in rates]
        write_rows(tmp_path / f"{day}-static-sweep" / static_sweep.CSV, rows)

    done = run("modes", "--out", tmp_path, "--runs", 1)

    assert done.exit_code == 0, done.output
    assert "static 16, 10 ms" in no_servers


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_figure_of_the_page_on_benchmarks_is_drawn_from_the_file_alone(
    name: str, no_servers: list[str], tmp_path: Path
) -> None:
    module: Any = EXPERIMENTS[name]
    write_rows(tmp_path / module.CSV, module.measure(Plan(num_runs=2, scale=0.01)))

    done = run(name, "--redraw", tmp_path)

    assert done.exit_code == 0, done.output
    assert {path.name for path in tmp_path.glob("*.png")} == {*re.findall(rf"/[\d-]+-{name}/(\w+\.png)\)", BENCHMARKS)}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.glob("*.png"))


def test_a_load_without_an_answer_still_makes_a_row_that_no_median_hides() -> None:
    nothing = Measurements(elapsed_s=1.0)
    nothing.failures["timeout"] = 3

    columns = as_columns(nothing)

    assert (columns["not_ok"], columns["throughput_per_s"]) == (3, 0.0)
    assert math.isnan(columns["p50_ms"]) and math.isnan(columns["q50"])
    assert math.isnan(medians([{"p50_ms": 1.0}, {"p50_ms": 2.0}, columns], (), ["p50_ms"])["p50_ms"][0])


def test_an_experiment_that_breaks_off_has_its_manifest_and_does_not_end_those_after_it(
    no_servers: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is measured is the commit of the start."""
    real = static_sweep.measure

    def break_off(plan: Plan) -> Iterator[Row]:
        yield next(real(plan))
        raise ZeroDivisionError

    monkeypatch.setattr(static_sweep, "measure", break_off)

    done = run("static-sweep", "modes", "concurrency", "--quick", "--out", tmp_path)

    assert done.exit_code == 1
    assert "static-sweep failed" in done.output and "ZeroDivisionError" in done.output
    assert "modes failed" not in done.output
    assert len(list(tmp_path.glob("*-concurrency/*.png"))) == 1
    (manifest,) = tmp_path.glob("*-static-sweep/manifest.json")
    assert json.loads(manifest.read_text()).keys() >= {"command", "commit", "seed", "versions", "machine", "date"}


def test_a_measured_server_gets_its_options_from_us_and_not_from_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINISERVE_BREAK", "6")
    seen: list[str] = []
    monkeypatch.setattr(system.Member, "start", lambda member: seen.extend(member.env) or 1 / 0)

    with pytest.raises(ZeroDivisionError), system.serving(("--mode", "static")):
        pass

    assert "PATH" in seen and not any(name.startswith("MINISERVE_") for name in seen)


def test_the_cpu_time_of_processes_below_is_told_by_their_role() -> None:
    """A stand-in that burns as `... worker`, started by another one."""
    inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}, 'miniserve worker'])"
    outer = subprocess.Popen([sys.executable, "-c", inner], start_new_session=True)
    try:
        spent = eventually(lambda: (found := system.cpu_us(outer.pid))["worker"] > 50_000 and found, within_s=20)
    finally:
        os.killpg(outer.pid, signal.SIGKILL)
        outer.wait()

    assert (spent["api"], spent["redis"]) == (0.0, 0.0)


def test_a_server_without_sources_has_no_peers_and_installs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "_ROOT", tmp_path)

    refused = run("peers", "--out", tmp_path / "out")

    assert "run it in a checkout" in str(refused.output)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_experiment_that_is_ended_leaves_its_rows_and_no_server(tmp_path: Path) -> None:
    """A server that is known by its pid, and a measurement that goes on for ever after the first row."""
    code = """
import sys, time
from ops.bench import command, static_sweep
from ops.run.supervisor import Member, running
def measure(plan):
    asleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    with running(Member("asleep", asleep, {}), lambda: None) as server:
        yield {"pid": server.process.pid}
        time.sleep(600)
static_sweep.measure = measure
command.bench(["static-sweep", "--out", sys.argv[1]])
"""
    child = subprocess.Popen([sys.executable, "-c", code, tmp_path], stderr=subprocess.DEVNULL)
    written = eventually(lambda: [path for path in tmp_path.glob(f"*/{static_sweep.CSV}") if path.stat().st_size], 30)
    (row,) = read_rows(written[0])

    child.terminate()

    assert child.wait() != 0
    assert not psutil.pid_exists(int(row["pid"]))
