"""The experiments without their servers: what is counted, what is drawn, what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from ops import provenance
from ops.bench import concurrency, engine, experiment, modes, occupancy, static_sweep, system
from ops.bench.command import ALL, EXPERIMENTS, bench
from ops.bench.experiment import COUNTERS, Case, Load, Plan, Row, as_columns, medians, write_rows
from ops.load.arrivals import Limits
from ops.load.measurements import Measurements
from ops.plan.mix import SizedRequest
from scheduler.batching import BatchLimits
from scheduler.messages import CorrectionRequest
from scheduler.settings import MODES

PNG = b"\x89PNG"


def measured(latency_s: float = 0.1) -> Measurements:
    one = Measurements([latency_s * (1 + number / 10) for number in range(20)], elapsed_s=2.0)
    one.statuses[200] = 20
    return one


@pytest.fixture
def no_servers(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, int]]:
    """(case, load, run) of each load in order; nothing is started."""
    seen = []

    def measure_case(case: Case, loads: list[Load], run: int, seed: int) -> list[Row]:
        seen.extend((case.label, load.label, run) for load in loads)
        counted = dict.fromkeys(COUNTERS, 1.0) | {"peak_running": 40, "mean_prompt_tokens": 16.0}
        about = {"run": run, **case.columns, **as_columns(measured()), **counted}
        return [{"load": load.label, "clients": load.concurrency or "", **about} for load in loads]

    for module in (static_sweep, modes, concurrency):
        monkeypatch.setattr(module, "measure_case", measure_case)
    return seen


def requests(*sizes: tuple[int, int]) -> list[SizedRequest]:
    """(prompt tokens, output tokens) of each."""
    return [
        (CorrectionRequest(str(number), (2,) * prompt, (0,) * prompt, 32, "t"), length)
        for number, (prompt, length) in enumerate(sizes)
    ]


def test_a_place_of_a_static_batch_stays_empty_until_the_longest_member_ends():
    policy = occupancy.policies(BatchLimits(4096, 2, 512))["static"]

    rows = occupancy.occupancy(policy, requests((4, 1), (4, 3), (4, 1)))

    assert [(row["iteration"], row["slot"], row["state"]) for row in rows] == [
        (0, 0, "token"), (0, 1, "token"), (1, 0, "idle"), (1, 1, "token"), (2, 0, "idle"), (2, 1, "token"),
    ] + [(3, 0, "token"), (3, 1, "idle")]  # fmt: skip


def test_with_a_fixed_length_the_rest_is_waste_and_with_continuous_batching_another_request():
    policies = occupancy.policies(BatchLimits(4096, 2, 512))
    fixed = occupancy.occupancy(policies["fixed length"], requests((4, 1), (4, 3), (4, 2), (4, 2)))
    continuous = occupancy.occupancy(policies["continuous"], requests((4, 1), (4, 3), (4, 2), (4, 2), (4, 2)))

    assert {row["state"] for row in fixed} == {"token", "waste"}
    assert {row["state"] for row in continuous} == {"token"}


def test_every_case_is_measured_once_in_every_round(no_servers: list[tuple[str, str, int]]):
    rows = list(static_sweep.measure(Plan(num_runs=2, total=20)))

    assert [run for _, _, run in no_servers] == [1] * 7 + [2] * 7
    assert {row["max_batch"] for row in rows} == {1, 2, 4, 8, 16, 32}
    assert [row["mode"] for row in rows].count("sync") == 2


def test_all_modes_get_the_same_loads_and_the_batching_ones_the_open_loop(no_servers: list[tuple[str, str, int]]):
    rows = modes.measure(Plan(num_runs=1, total=20))

    closed = [case for case, load, _ in no_servers if load == "50 clients, 200"]
    opened = [case for case, load, _ in no_servers if load == modes.OPEN_LABEL]
    assert closed == ["textbook static 8, 20 ms", "sync", "threaded", "static 16, 20 ms", "continuous"]
    assert opened == ["static 16, 20 ms", "continuous"]
    assert {row["mode"] for row in rows} == {*MODES, "textbook"}


def test_modes_takes_the_best_setting_of_the_newest_sweep(no_servers: list[tuple[str, str, int]], tmp_path: Path):
    for day, batch in (("2026-01-01", 8), ("2026-01-02", 4)):
        folder = tmp_path / f"{day}-static-sweep"
        folder.mkdir()
        row = {"mode": "static", "setting": "x", "max_batch": batch, "max_wait_ms": 10.0, "throughput_per_s": 1}
        write_rows(folder / static_sweep.CSV, [row])

    done = CliRunner().invoke(bench, ["modes", "--out", str(tmp_path), "--runs", "1"])

    assert done.exit_code == 0, done.output
    assert "static 4, 10 ms" in {case for case, _, _ in no_servers}
    manifest = json.loads(next(tmp_path.glob("*-modes/manifest.json")).read_text())
    assert manifest.keys() >= {"num_runs", "concurrency", "total", "scale"}


def test_counters_of_a_server_under_several_loads_are_nobodys():
    @contextmanager
    def serving(_: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(url="http://127.0.0.1:1", counters={"peak_running": 7})

    with patch.object(experiment, "serving", serving), patch.object(experiment.Generator, "run", lambda _: measured()):
        loads = [Load("a", Limits(total=2), 1), Load("b", Limits(total=2), 2)]
        alone = next(experiment.measure_case(Case("x", (), {}), loads[:1], 1, 0))
        beside = next(experiment.measure_case(Case("x", (), {}), loads, 1, 0))

    assert alone["peak_running"] == 7
    assert math.isnan(beside["peak_running"])


def test_the_best_setting_is_that_of_the_highest_median_throughput():
    rows = [
        {"mode": mode, "setting": f"{batch}", "max_batch": batch, "max_wait_ms": 20.0, "throughput_per_s": rate}
        for mode, batch, rate in (("sync", 1, 999), ("static", 8, 50), ("static", 8, 60), ("static", 8, 900),
                                  ("static", 16, 70), ("static", 16, 80), ("static", 16, 75))
    ]  # fmt: skip

    assert static_sweep.best_setting(rows) == (16, 20.0)


@pytest.mark.parametrize("name", ALL)
def test_every_figure_of_the_contract_is_drawn_from_the_file_alone(
    name: str, no_servers: list[tuple[str, str, int]], tmp_path: Path
):
    module = EXPERIMENTS[name]
    write_rows(tmp_path / module.CSV, module.measure(Plan(num_runs=2, total=20)))

    done = CliRunner().invoke(bench, [name, "--redraw", str(tmp_path)])

    assert done.exit_code == 0, done.output
    assert {path.name for path in tmp_path.glob("*.png")} == {
        "static-sweep": {
            "throughput_vs_batch.png", "p95_vs_batch.png", "latency_cdf_baseline_vs_batch8.png", "batch_fullness.png"
        },
        "modes": {"latency_cdf_modes.png", "throughput_by_mode.png"},
        "concurrency": {"p50_vs_concurrency.png"},
        "occupancy": {"occupancy.png"},
    }[name]  # fmt: skip
    assert all(path.read_bytes().startswith(PNG) for path in tmp_path.glob("*.png"))


@pytest.mark.parametrize("values", [(math.nan, 1.0, 2.0), (1.0, math.nan, 2.0), (2.0, 1.0, math.nan)])
def test_a_run_without_a_value_is_not_hidden_in_a_median(values: tuple[float, ...]):
    rows = [{"mode": "a", "x": value} for value in values]

    assert math.isnan(medians(rows, "mode", ["x"])["a"]["x"])


def test_a_load_without_an_answer_still_makes_a_row():
    nothing = Measurements(elapsed_s=1.0)
    nothing.failures["timeout"] = 3

    columns = as_columns(nothing)

    assert (columns["not_ok"], columns["throughput_per_s"]) == (3, 0.0)
    assert math.isnan(columns["p50_ms"]) and math.isnan(columns["q50"])


def test_the_engine_alone_is_measured_for_every_number_of_slots(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engine, "SLOTS", (1, 2))

    rows = engine.measure(Plan(num_runs=2, scale=0.01))

    assert [row["slots"] for row in rows] == [1, 2]
    assert all(row["cpu_us"] * row["throughput_per_s"] == pytest.approx(1e6) for row in rows)
    assert len(engine.summary(rows)[0].splitlines()) == 1 + len(rows)


def test_an_experiment_that_breaks_off_does_not_end_those_after_it(no_servers: object, tmp_path: Path):
    def broken(plan: Plan) -> list[Row]:
        raise ZeroDivisionError

    with patch.object(static_sweep, "measure", broken):
        done = CliRunner().invoke(bench, ["static-sweep", "concurrency", "--quick", "--out", str(tmp_path)])

    assert done.exit_code == 1
    assert "static-sweep failed" in done.output and "ZeroDivisionError" in done.output
    assert len(list(tmp_path.glob("*-concurrency/*.png"))) == 1


def test_the_manifest_names_the_commit_at_the_start_of_a_measurement(no_servers: object, tmp_path: Path):
    commits = ["at the start"]
    measure = modes.measure

    def measure_while_somebody_commits(plan: Plan) -> list[Row]:
        commits.append("at the end")
        return measure(plan)

    with (
        patch.object(provenance, "git_commit", lambda: commits[-1]),
        patch.object(modes, "measure", measure_while_somebody_commits),
    ):
        CliRunner().invoke(bench, ["modes", "--out", str(tmp_path)])

    (written,) = tmp_path.glob("*/manifest.json")
    assert json.loads(written.read_text())["commit"] == "at the start"


def test_a_folder_without_results_is_refused_by_name(tmp_path: Path):
    refused = CliRunner().invoke(bench, ["modes", "--redraw", str(tmp_path)])

    assert refused.exit_code == 2
    assert "holds no modes.csv" in refused.output


def test_a_measured_server_gets_its_options_from_us_and_not_from_the_shell(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MINISERVE_BREAK", "leaked-slot")
    monkeypatch.setenv("MINISERVE_REDIS_URL", "redis://elsewhere")

    class Started(Exception):
        pass

    def spawn(command: list[str], env: dict[str, str] | None = None, output: object = None) -> None:
        assert env is not None and "PATH" in env
        assert [name for name in env if name.startswith("MINISERVE_")] == []
        raise Started

    monkeypatch.setattr(system.processes, "spawn", spawn)

    with pytest.raises(Started), system.serving(("--mode", "static")):
        pass
