"""The load by hand: its rows, and the medians its figure is drawn from."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ops import load
from ops.load_figure import medians


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """(concurrency, seed) of each run; nothing is sent."""
    runs: list[tuple[int, int]] = []

    def run(url: str, concurrency: int, seconds: float, seed: int) -> load.Tally:
        runs.append((concurrency, seed))
        tally = load.Tally([0.001 * concurrency] * 10)
        tally.statuses[200] = 10
        return tally

    monkeypatch.setattr(load, "run", run)
    return runs


def test_every_concurrency_is_measured_in_every_round_with_the_sentences_of_its_round(
    measured: list[tuple[int, int]],
) -> None:
    done = CliRunner().invoke(load.main, ["--concurrency", "1", "--concurrency", "64", "--runs", "2"])

    assert measured == [(1, 1), (64, 1), (1, 2), (64, 2)]
    assert [json.loads(line)["p50_ms"] for line in done.output.splitlines()] == [1.0, 64.0, 1.0, 64.0]


def test_the_saved_file_has_a_row_a_run_and_the_columns_it_promises(
    measured: list[tuple[int, int]], tmp_path: Path
) -> None:
    path = tmp_path / "load.csv"

    done = CliRunner().invoke(load.main, ["--concurrency", "4", "--runs", "3", "--save", str(path)])

    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    assert done.exit_code == 0, done.output
    assert tuple(rows[0]) == load.COLUMNS
    assert [row[0] for row in rows[1:]] == ["4", "4", "4"]


def test_the_figure_shows_the_median_of_the_runs_at_each_concurrency(tmp_path: Path) -> None:
    path = tmp_path / "load.csv"
    lines = [",".join(load.COLUMNS)]
    lines += [f"{clients},10,500,{rate},{rate / 10},2,3" for clients, rate in ((1, 10), (8, 70), (1, 90), (1, 20))]
    path.write_text("\n".join(lines) + "\n")

    points = medians(path)

    assert {clients: columns["requests_per_s"] for clients, columns in points.items()} == {1: 20.0, 8: 70.0}
    assert points[1]["p50_ms"] == 2.0


def test_no_sentence_of_the_load_comes_twice_and_a_seed_repeats_them() -> None:
    first, again = load.sentences(3), load.sentences(3)
    texts = [next(first) for _ in range(500)]

    assert len(set(texts)) == 500
    assert texts == [next(again) for _ in range(500)]
