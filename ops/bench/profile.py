"""`profile`: the CPU time of one request by stage, of this checkout and of others, with one client and with 64.

API and workers sample themselves by CPU time (`sampler/sitecustomize.py`, put on PYTHONPATH here and nowhere else);
`stages` says what a sample belongs to. All of Redis is one stage; the commands that it ran are counted.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from redis import Redis

from ops.bench import slices, stages
from ops.bench.experiment import Plan, Row
from ops.bench.slices import Running
from ops.load import prompts

CSV = "profile.csv"
PLANNED = ("num_runs", "scale", "against", "sentences")  # what of the plan it goes by
CLIENTS = (1, 64)
_SLICE_S = 4.0
SAMPLER = str(Path(__file__).with_name("sampler"))
_TOKENS_A_WORD = 1.5  # of a prompt: 1.56 with the sentences that ship
LINES = {stage: stage for stage in stages.STAGES} | {
    "**all**": "cpu_us", "of it API": "api_us", "worker": "worker_us", "the rest, without Redis": "other_us",
    "Redis commands a request": "redis_commands", "corrections/s": "throughput_per_s",
}  # fmt: skip


@dataclass(slots=True)
class _Probe:
    """Reads what a running server has sampled and counted since it was read last."""

    folder: Path
    redis: Redis
    _read: dict[Path, int] = field(default_factory=dict)

    @classmethod
    def of(cls, running: Running) -> _Probe:
        return cls(Path(running.server.env["PROFILE_FOLDER"]), Redis.from_url(slices.redis_url(running.pid)))

    def lines(self) -> list[str]:
        found = []
        for path in self.folder.glob("*.samples"):
            with path.open(encoding="utf-8") as file:
                file.seek(self._read.get(path, 0))
                found += file.readlines()
                self._read[path] = file.tell()
        return found

    def num_commands(self) -> int:
        return sum(one["calls"] for one in self.redis.info("commandstats").values())


def measure(plan: Plan) -> Iterator[Row]:
    sentences = prompts.load(Path(plan.sentences) if plan.sentences else None, plan.seed)
    with tempfile.TemporaryDirectory() as folder:
        sampled = []
        for server in slices.checkouts(plan.against):
            own = tempfile.mkdtemp(dir=folder)
            sampled.append(replace(server, env={**server.env, "PYTHONPATH": SAMPLER, "PROFILE_FOLDER": own}))
        with slices.all_up(sampled, sentences) as running:
            probes = {one.server.name: _Probe.of(one) for one in running}
            for clients in CLIENTS:
                for run, one in slices.in_turn(running, plan.num_runs, f"profile, {clients} clients"):
                    yield {"run": run, **_slice(one, probes[one.server.name], sentences, (clients, plan.scale))}


def _slice(running: Running, probe: _Probe, sentences: list[str], load: tuple[int, float]) -> Row:
    num_commands = probe.num_commands()
    probe.lines()  # of the pause
    row = slices.put_load_on(running, sentences, load[0], _SLICE_S * load[1])
    lines = probe.lines()
    answers = max(1.0, row["requests"] - row["not_ok"])
    row["redis_commands"] = (probe.num_commands() - num_commands) / answers
    prompt_tokens = _TOKENS_A_WORD * float(np.mean([len(sentence.split()) for sentence in sentences]))
    spent = stages.microseconds(lines, prompt_tokens)
    by_stage = {stage: spent[stage] / answers for stage in stages.STAGES} | {"Redis": row["redis_us"]}
    by_stage["other"] += row["cpu_us"] - sum(by_stage.values())  # of processes that are not sampled, too
    return row | by_stage


def summary(rows: list[Row]) -> list[str]:
    """A table in Markdown, means of the calm slices; then what each other checkout costs against the first."""
    names = list(dict.fromkeys(row["server"] for row in rows))
    columns = [(name, clients) for name in names for clients in CLIENTS]
    heads = [f"{name}, {clients} client{'s' * (clients > 1)}" for name, clients in columns]
    lines = ["", f"| us of CPU a request | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
    for label, key in LINES.items():
        means = [round(np.mean([row[key] for row in slices.calm(rows, *column)])) for column in columns]
        lines.append(f"| {label} | {' | '.join(f'{mean:,}' for mean in means)} |")
    return [*lines, "", *(_against(rows, names[0], name, clients) for name in names[1:] for clients in CLIENTS)]


def _against(rows: list[Row], first: str, other: str, clients: int) -> str:
    """Mean over the rounds, in each of which both had a slice."""
    told = []
    for key, what in (("cpu_us", "CPU a request"), ("throughput_per_s", "corrections/s")):
        found = {(row["server"], row["run"]): row[key] for row in rows if row["clients"] == clients}
        percent = [100 * (value / found[first, run] - 1) for (name, run), value in found.items() if name == other]
        error = np.std(percent) / np.sqrt(max(1, len(percent) - 1))
        told.append(f"{np.mean(percent):+.1f} % of {what} (standard error {error:.1f})")
    return f"{other} against {first}, {clients} clients: {', '.join(told)}"


def draw(rows: list[Row], folder: Path) -> list[Path]:
    """No figure: it is a table."""
    return []
