"""`peers`: Mosec around the same corrector, with one process and with two, in turn with miniserve.

Mosec lives in an environment of its own, .venv-peers beside the sources, which the first run makes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from ops.bench.experiment import Case, Load, Plan, Row, measured, medians, medians_table
from ops.load.arrivals import Limits
from ops.run import processes

CSV = "peers.csv"
CLIENTS = (64, 1)
_SECONDS = 4.0
_NUM_WORKERS = (1, 2)
_ROOT = Path(__file__).parents[2]
_COLUMNS = ("throughput_per_s", "p50_ms", "p95_ms", "cpu_us", "not_ok")


def measure(plan: Plan) -> Iterator[Row]:
    """Some seconds of every server, with 64 clients and with one."""
    loads = [Load(f"{clients} clients", Limits(duration_s=_SECONDS * plan.scale), clients) for clients in CLIENTS]
    command = tuple(processes.miniserve_command("up", "--port"))  # which logs no more than the others do
    return measured([Case("miniserve", {"server": "miniserve"}, command=command), *_peers()], loads, plan, "peers")


def _peers() -> list[Case]:
    if not (_ROOT / "pyproject.toml").exists():
        raise click.ClickException("bench peers installs the sources beside the other servers: run it in a checkout")
    python = _ROOT / ".venv-peers" / "bin" / "python"
    if not python.exists():
        click.echo(f"making {python.parents[1]} ...")
        subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
    # Each time, because a first run may have been interrupted; seconds where nothing is missing.
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--editable", ".[peers]"], cwd=_ROOT, check=True)
    cases = []
    for workers in _NUM_WORKERS:
        label = f"mosec, {workers} worker{'s' * (workers > 1)}"
        command = (str(python), "-m", "ops.bench.peer_servers", str(workers))
        cases.append(Case(label, {"server": label}, command=command, path="/inference"))
    return cases


def summary(rows: list[Row]) -> list[str]:
    return [medians_table(rows, ("clients", "server"), _COLUMNS)]


def draw(rows: list[Row], folder: Path) -> list[Path]:
    from ops.bench.figures import COLOURS, figure

    path, many = folder / "throughput_by_peer.png", [row for row in rows if row["clients"] == CLIENTS[0]]
    points = medians(many, ["server"], ("throughput_per_s", "p95_ms"))
    names = [name.replace(", ", "\n") for name in points["server"]]
    colours = [COLOURS["other" if "worker" in name else "continuous"] for name in names]
    with figure(path, f"The same corrector behind other servers, {CLIENTS[0]} clients") as axes:
        bars = axes.bar(names, points["throughput_per_s"], color=colours)
        pairs = zip(points["throughput_per_s"], points["p95_ms"], strict=True)
        axes.bar_label(bars, [f"{rate:,.0f}\np95 {p95:.0f} ms" for rate, p95 in pairs], padding=2, fontsize=8)
        axes.set(ylabel="corrections per second")
        axes.margins(y=0.2)
    return [path]
