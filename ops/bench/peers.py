"""`peers`: other servers around the same corrector, all up at once, loaded in turn by one client; then each is killed.

Mosec and LitServe live in an environment of their own, .venv-peers, which the first run makes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from ops.bench import slices
from ops.bench.experiment import Plan, Row, as_columns, medians
from ops.bench.slices import Running, Server
from ops.load import prompts
from ops.load.arrivals import ClosedLoop, Limits
from ops.load.generator import Generator
from ops.load.measurements import Measurements
from worker.model.blas import THREAD_VARIABLES

CSV = "peers.csv"
PLANNED = ("num_runs", "scale", "against", "sentences")  # what of the plan it goes by
CLIENTS = (64, 1)
_SLICE_S = 4.0
_KILL_AT_S, _END_S = 3.0, 12.0
_PEERS = (("mosec", 1, "/inference"), ("mosec", 2, "/inference"), ("litserve", 1, "/predict"))
_ROOT = Path(__file__).parents[2]
_PYTHON = _ROOT / ".venv-peers" / "bin" / "python"
_COLUMNS = ("throughput_per_s", "p50_ms", "p95_ms", "cpu_us", "not_ok")


def measure(plan: Plan) -> Iterator[Row]:
    """In each round a slice of every server, with 64 clients and with one; then each server is killed in two ways."""
    sentences = prompts.load(Path(plan.sentences) if plan.sentences else None, plan.seed)
    servers = [*slices.checkouts(plan.against), *_peers()]
    columns: Row = {}
    with slices.all_up(servers, sentences) as running:
        for clients in CLIENTS:
            for run, one in slices.in_turn(running, plan.num_runs, f"peers, {clients} clients"):
                row = slices.put_load_on(one, sentences, clients, _SLICE_S * plan.scale)
                row = {"run": run, "killed": "", "failed": 0, "refused": 0, "serves_again": "", **row}
                columns = dict.fromkeys(row, 0)
                yield row
    for server in servers:
        for victim in _VICTIMS:
            with slices.all_up([server], sentences) as (one,):
                yield columns | _killed(one, victim, sentences)


def _peers() -> list[Server]:
    if not _PYTHON.exists():
        click.echo(f"making {_PYTHON.parents[1]} ...")
        subprocess.run([sys.executable, "-m", "venv", _PYTHON.parents[1]], check=True)
    # Each time, because a first run may have been interrupted; seconds where nothing is missing.
    subprocess.run([_PYTHON, "-m", "pip", "install", "--quiet", "--editable", ".[peers]"], cwd=_ROOT, check=True)
    command = [str(_PYTHON), "-m", "ops.bench.peer_servers"]
    env = dict.fromkeys(THREAD_VARIABLES, "1")  # as in our own workers
    return [
        Server(f"{name}, {workers} worker{'s' * (workers > 1)}", [*command, name, str(workers)], path, env)
        for name, workers, path in _PEERS
    ]


def _killed(one: Running, victim: str, sentences: Sequence[str]) -> Row:
    """What becomes of requests when a process gets SIGKILL while they are on their way."""
    generator = Generator(one.target, sentences, ClosedLoop(CLIENTS[0]), Limits(duration_s=_END_S), None)
    pids = [_VICTIMS[victim](one)]

    def look(measured: Measurements) -> None:
        if measured.elapsed_s > _KILL_AT_S and pids:
            os.kill(pids.pop(), signal.SIGKILL)

    measured = generator.run(look)
    refused = measured.failures["connection refused"]
    failed = measured.num_over - measured.statuses[200] - refused
    again = "yes" if slices.answers(one.target.port, one.server.path) else "no"
    about = {"server": one.server.name, "killed": victim, "failed": failed, "refused": refused, "serves_again": again}
    return {**about, **as_columns(measured)}


def _worker(one: Running) -> int:
    """The process that computes: ours by its name, another's by the CPU time that it has used."""
    processes = slices.tree(one.pid)
    workers = (process for process in processes if slices.role(process) == "worker")
    return next(workers, max(processes, key=slices.own_cpu_us)).pid


def _front(one: Running) -> int:
    return slices.holder(one.pid, one.target.port)


_VICTIMS = {"worker": _worker, "the process with the connections": _front}


def summary(rows: list[Row]) -> list[str]:
    """Two tables in Markdown."""
    lines = ["", "| | clients | corrections/s | p50 ms | p95 ms | CPU ms a request | not answered |", "|---" * 7 + "|"]
    for clients in CLIENTS:
        for name, point in _points(rows, clients).items():
            rate, p50, p95, cpu_us, not_ok = point.values()
            lines.append(
                f"| {name} | {clients} | {rate:,.0f} | {p50:.1f} | {p95:.1f} | {cpu_us / 1000:.2f} | {not_ok:.0f} |"
            )
    lines += ["", "| | killed | answered | failed | refused | longest answer, ms | serves again |"]
    lines.append("|---" * 7 + "|")
    for row in rows:
        if row["killed"]:
            counts = [row["requests"] - row["not_ok"], row["failed"], row["refused"], row["max_ms"]]
            cells = [row["server"], row["killed"], *(f"{count:,.0f}" for count in counts), row["serves_again"]]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def _points(rows: list[Row], clients: int) -> dict[str, dict[str, float]]:
    names = dict.fromkeys(row["server"] for row in rows)
    return medians([row for name in names for row in slices.calm(rows, name, clients)], "server", _COLUMNS)


def draw(rows: list[Row], folder: Path) -> list[Path]:
    from ops.bench.figures import COLOURS, figure

    path, points = folder / "throughput_by_peer.png", _points(rows, CLIENTS[0])
    names = [name.replace(", ", "\n") for name in points]
    colours = [COLOURS["other" if "worker" in name else "continuous"] for name in points]
    with figure(path, f"The same corrector behind other servers, {CLIENTS[0]} clients") as axes:
        bars = axes.bar(names, [point["throughput_per_s"] for point in points.values()], color=colours)
        labels = [f"{point['throughput_per_s']:,.0f}\np95 {point['p95_ms']:.0f} ms" for point in points.values()]
        axes.bar_label(bars, labels, padding=2, fontsize=8)
        axes.set(ylabel="corrections per second")
        axes.margins(y=0.2)
    return [path]
