"""Servers side by side, without servers: what is counted, and what is printed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from click import ClickException

from ops.bench import peers, static_sweep, system
from ops.bench.experiment import Plan, Row, as_columns, read_rows
from ops.load.measurements import Measurements
from tests.mailbox_house import eventually

BURN = "while True: pass"


def rows(name: str, clients: int, cpu_us: float) -> list[Row]:
    measured = Measurements([0.01, 0.02], elapsed_s=1.0)
    measured.statuses[200] = 2
    row = {"server": name, "clients": clients, "cpu_us": cpu_us, **as_columns(measured)}
    return [row | {"run": 1}, row | {"run": 2}]


def test_the_cpu_time_of_processes_below_is_told_by_their_role():
    """A stand-in that burns as `... worker`, started by another one."""
    inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}, 'miniserve worker'])"
    outer = subprocess.Popen([sys.executable, "-c", inner], start_new_session=True)
    try:
        spent = eventually(lambda: (found := system.cpu_us(outer.pid))["worker"] > 50_000 and found, within_s=20)
    finally:
        os.killpg(outer.pid, signal.SIGKILL)
        outer.wait()

    assert (spent["api"], spent["redis"]) == (0.0, 0.0)


def test_a_server_without_sources_has_no_peers_and_installs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(peers, "_ROOT", tmp_path)

    with pytest.raises(ClickException, match="run it in a checkout"):
        next(peers.measure(Plan()))

    assert list(tmp_path.iterdir()) == []


def test_the_tables_and_the_figure_are_made_from_the_rows_alone(tmp_path: Path):
    measured = [row for name, us in (("now", 1000), ("old", 1100)) for n in (1, 64) for row in rows(name, n, us)]

    told = [line.split() for line in "\n".join(peers.summary(measured)).splitlines()]
    assert ["64", "old", "2", "15.0", "19.5", "1,100", "0"] in told
    assert peers.draw(measured, tmp_path)[0].read_bytes().startswith(b"\x89PNG")


def test_an_experiment_that_is_ended_leaves_its_rows_and_no_server(tmp_path: Path):
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
