"""`peers`: other servers around the same corrector, all up at once, loaded in turn by one client.

Mosec and LitServe live in an environment of their own, .venv-peers beside the sources, which the first run makes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import click

from ops.bench.experiment import Plan, Row, as_columns, medians, medians_table, rounds
from ops.bench.system import cpu_us
from ops.load import prompts
from ops.load.arrivals import ClosedLoop, Limits
from ops.load.client import Client, fetch
from ops.load.generator import Generator
from ops.run import processes
from ops.run.embedded_redis import free_port
from ops.run.supervisor import Member, running
from worker.model.blas import THREAD_VARIABLES

CSV = "peers.csv"
PLANNED = ("num_runs", "scale", "sentences")  # what of the plan it goes by
CLIENTS = (64, 1)
_WARM_UP_S = 2.0
_SLICE_S = 4.0
_PAUSE_S = 0.5  # between slices, so that what is left of one is not counted in the next
_PEERS = (("mosec", 1, "/inference"), ("mosec", 2, "/inference"), ("litserve", 1, "/predict"))
_ROOT = Path(__file__).parents[2]
_COLUMNS = ("throughput_per_s", "p50_ms", "p95_ms", "cpu_us", "not_ok")


@dataclass(frozen=True, slots=True)
class Server:
    """One way to serve; the command takes the port as its last argument."""

    label: str
    command: Sequence[str]
    path: str = "/correct"
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers."""

    server: Server
    port: int
    pid: int

    @property
    def label(self) -> str:
        return self.server.label

    def client(self) -> Client:
        return Client(f"http://127.0.0.1:{self.port}")

    def load(self, sentences: Sequence[str], clients: int, seconds: float) -> Generator:
        generator = Generator(self.client(), sentences, ClosedLoop(clients), Limits(duration_s=seconds))
        generator.path = self.server.path
        return generator

    def answers(self) -> bool:
        """Whether it corrects a sentence within ten seconds."""
        body = json.dumps({"sentence": "He goed to school."}).encode()
        with suppress(OSError):
            return fetch(self.client(), "POST", self.server.path, body, patience_s=10.0).status == 200
        return False


def measure(plan: Plan) -> Iterator[Row]:
    """In each round a slice of every server, with 64 clients and with one."""
    sentences = prompts.load(Path(plan.sentences) if plan.sentences else None, plan.seed)
    servers = [Server("miniserve", [*processes.miniserve_command("up"), "--port"]), *_peers()]
    with ExitStack() as stack:
        running = [stack.enter_context(_warm(server, sentences)) for server in servers]
        for clients in CLIENTS:
            for run, one in rounds(running, plan.num_runs, f"peers, {clients} clients"):
                yield {"run": run, **_slice(one, sentences, clients, _SLICE_S * plan.scale)}


def _peers() -> list[Server]:
    if not (_ROOT / "pyproject.toml").exists():
        raise click.ClickException("bench peers installs the sources beside the other servers: run it in a checkout")
    python = _ROOT / ".venv-peers" / "bin" / "python"
    if not python.exists():
        click.echo(f"making {python.parents[1]} ...")
        subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
    # Each time, because a first run may have been interrupted; seconds where nothing is missing.
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--editable", ".[peers]"], cwd=_ROOT, check=True)
    command = [str(python), "-m", "ops.bench.peer_servers"]
    env = dict.fromkeys(THREAD_VARIABLES, "1")  # as in our own workers
    return [
        Server(f"{name}, {workers} worker{'s' * (workers > 1)}", [*command, name, str(workers)], path, env)
        for name, workers, path in _PEERS
    ]


@contextmanager
def _warm(server: Server, sentences: Sequence[str]) -> Iterator[Running]:
    """Raises RuntimeError where it does not start."""
    one = Running(server, free_port(), 0)
    command, env = [*server.command, str(one.port)], processes.environment(server.env)
    member = Member(server.label, command, env)
    with running(member, lambda: None if one.answers() else "no answer"):
        one = Running(server, one.port, member.process.pid)
        one.load(sentences, 32, _WARM_UP_S).run()
        yield one


def _slice(one: Running, sentences: Sequence[str], clients: int, seconds: float) -> Row:
    """What was answered in some seconds, and the CPU time of an answer over all processes."""
    time.sleep(_PAUSE_S)
    before = cpu_us(one.pid).total()
    measured = one.load(sentences, clients, seconds).run()
    spent_us = (cpu_us(one.pid).total() - before) / max(1, measured.statuses[200])
    return {"server": one.label, "clients": clients, "cpu_us": spent_us, **as_columns(measured)}


def summary(rows: list[Row]) -> list[str]:
    return [medians_table(rows, ("clients", "server"), _COLUMNS)]


def draw(rows: list[Row], folder: Path) -> list[Path]:
    from ops.bench.figures import COLOURS, figure

    path, many = folder / "throughput_by_peer.png", [row for row in rows if row["clients"] == CLIENTS[0]]
    points = medians(many, "server", ("throughput_per_s", "p95_ms"))
    names = [name.replace(", ", "\n") for name in points]
    colours = [COLOURS["other" if "worker" in name else "continuous"] for name in points]
    with figure(path, f"The same corrector behind other servers, {CLIENTS[0]} clients") as axes:
        bars = axes.bar(names, [point["throughput_per_s"] for point in points.values()], color=colours)
        labels = [f"{point['throughput_per_s']:,.0f}\np95 {point['p95_ms']:.0f} ms" for point in points.values()]
        axes.bar_label(bars, labels, padding=2, fontsize=8)
        axes.set(ylabel="corrections per second")
        axes.margins(y=0.2)
    return [path]
