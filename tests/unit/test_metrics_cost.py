"""`python -m ops.metrics_cost`: its arithmetic, and the processes and trees that it looks at."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ops.metrics_cost import pieces
from ops.metrics_cost.trees import HERE, Tree, TreeError, checked_out, running_from
from ops.metrics_cost.whole import Comparison, Sample, cpu_seconds
from tests.mailbox_house import eventually

BURN = "while True: pass"


def a_sample(tree: str, worker_us: float, api_us: float = 0.0) -> Sample:
    return Sample(tree, 100, 1.0, {"worker": worker_us, "api": api_us})


def test_the_cost_is_the_mean_of_what_each_pair_of_rounds_differs_by():
    rounds = [a_sample("before", 80, 20), a_sample("now", 82, 20), a_sample("now", 150, 56), a_sample("before", 200)]

    percent, error = Comparison(rounds).more_percent("before", "now")

    assert percent == pytest.approx((2.0 + 3.0) / 2)
    assert error == pytest.approx(0.5)
    assert Comparison(rounds).mean_us("before", "worker") == 140


def test_the_share_of_a_piece_is_by_request_and_by_the_second():
    assert pieces.Piece("a", us=2.0, per_request=3.0).us_per_request(500.0) == 6.0
    assert pieces.Piece("b", us=100.0, per_s=4.0).us_per_request(500.0) == pytest.approx(0.8)


def test_every_piece_can_be_measured(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pieces, "_us", lambda call, times=1: call() is None or 1.0)

    assert len({piece.name for piece in pieces.measure(scrape_every_s=5.0)}) == 6


def test_the_cpu_time_of_processes_below_is_told_by_their_role():
    """A stand-in that burns as `... worker`, started by another one."""
    inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}, 'miniserve worker'])"
    outer = subprocess.Popen([sys.executable, "-c", inner], start_new_session=True)
    try:
        spent = eventually(lambda: (found := cpu_seconds(outer.pid))["worker"] > 0.05 and found, within_s=20)
    finally:
        os.killpg(outer.pid, signal.SIGKILL)
        outer.wait()

    assert (spent["api"], spent["redis-server"]) == (0.0, 0.0)


def test_a_commit_that_is_not_there_is_said_in_one_line(tmp_path: Path):
    with pytest.raises(TreeError) as told, checked_out("no-such-commit", tmp_path / "before"):
        pass

    assert len(str(told.value).splitlines()) == 1


def test_children_started_meanwhile_run_the_code_of_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", "as it was")
    monkeypatch.setattr("ops.metrics_cost.trees.processes.miniserve_command", lambda: ["python", "miniserve"])

    with running_from(Tree("t", tmp_path)):
        inside = os.environ["PYTHONPATH"]

    assert (inside, os.environ["PYTHONPATH"]) == (str(tmp_path), "as it was")
    assert (HERE / "pyproject.toml").exists()
