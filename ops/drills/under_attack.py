"""The drill that attacks the door: how long a good client's answers take meanwhile, compared with calm.

The attackers are a process of their own (rude_clients.py), so that the good client's clock does not wait for them. Calm
and attack take turns, because a machine is not the same for ten minutes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from ops.drills.drill import ONCE, Check, Findings, Stage, at_most, count, equal, percentile, problems_of
from ops.drills.prober import Probe, read_probes
from ops.drills.probing import asking
from ops.drills.system import DRILL_SETTINGS, DrillError, Shape, System
from ops.drills.traffic import Exchange, Question, Traffic
from ops.load.arrivals import Limits

_RATE_PER_S = 40.0  # of the good client, by the clock: an answer that is late delays no later request
_GOOD = replace(ONCE, addresses=("127.0.0.3",))
_MOST_ADDED_MS = 100.0
_MOST_TIMES = 2.0
_PROBE_EVERY_S = 0.1
_LOOK_EVERY_S = 0.05
_PATIENCE_S = 40.0  # for attackers that wait for an answer
_UNREAD = "api 2"


@dataclass(frozen=True, slots=True)
class Attack:
    """One row of the table. What costs time is judged by the slowest answer, what holds places by the p99."""

    kind: str
    takes_time: bool = True
    turns: int = 3
    seconds: float = 5.0
    replica: int = 0  # that is attacked; in calm it is always the first, whose log is a file


_LONG = {"takes_time": False, "turns": 2, "seconds": 20.0}  # until connections end by their age
ATTACKS = (
    *map(Attack, ("marks", "blanks", "huge-words", "small-chunks", "many-lines", "long-heads")),
    Attack("declared-bodies", takes_time=False),
    Attack("endless-heads", **_LONG), Attack("endless-bodies", **_LONG), Attack("idle-connections", **_LONG),
    Attack("unknown-paths", takes_time=False, replica=1),
)  # fmt: skip


@dataclass(slots=True)
class Seen:
    """What became of the good client's requests, in calm and under attack."""

    calm: list[Exchange] = field(default_factory=list)
    attacked: list[Exchange] = field(default_factory=list)
    said: list[tuple[int, int]] = field(default_factory=list)  # in each turn: rounds, most connections held

    def figures(self) -> dict[str, Any]:
        quantiles = {"p50_ms": 50, "p99_ms": 99, "slowest_ms": 100}
        return {
            f"{when}_{name}": percentile([1e3 * one.latency_s for one in exchanges], percent)
            for when, exchanges in (("calm", self.calm), ("attacked", self.attacked))
            for name, percent in quantiles.items()
        } | {
            "answers": len(self.attacked),
            "lost": problems_of(self.attacked),
            "rounds": sum(num_rounds for num_rounds, _ in self.said),
            "most_held": max(most_held for _, most_held in self.said),
        }


def attacks(stage: Stage) -> Findings:
    """Eleven attacks, each in turns with calm, on a system of two replicas; nobody reads the log of the second. All
    requests of a good client are answered, its slowest answer takes at most 100 ms longer than in calm where the
    attack costs time, its p99 twice as long where it holds places, and /readyz of both replicas stays 200."""
    questions = stage.questions()
    shape = Shape(num_apis=2, settings=replace(DRILL_SETTINGS, log_level="info", api_processes="1"), unread=_UNREAD)
    seen = {attack.kind: Seen() for attack in ATTACKS}
    with stage.system(shape) as system, ExitStack() as probers:
        probes = [probers.enter_context(asking(url, _PROBE_EVERY_S)) for url in system.urls]
        stage.calm(system, questions)
        for attack in ATTACKS:
            _hold(stage, system, questions, attack, seen[attack.kind])
        probed = [probe for rows in probes for probe in read_probes(rows)]
    return _findings(seen, probed)


def _hold(stage: Stage, system: System, questions: list[Question], attack: Attack, seen: Seen) -> None:
    calm_url, url = system.urls[0], system.urls[attack.replica]
    num_turns, limits = stage.size(attack.turns, 1), Limits(duration_s=stage.size(attack.seconds, 1.0))

    def ask(good_url: str, words: str) -> list[Exchange]:
        with Traffic([good_url], questions, stage.open_loop(_RATE_PER_S), limits, _GOOD) as traffic:
            while not traffic.is_over:
                stage.show(turn / num_turns, f"{attack.kind}, {words}")
                system.pause(_LOOK_EVERY_S)
        return traffic.ended

    for turn in range(num_turns):  # noqa: B007 - `ask` shows it
        seen.calm += ask(calm_url, "calm")
        with _attacking(url, attack.kind) as said:
            seen.attacked += ask(url, "under attack")
        seen.said += said


@contextmanager
def _attacking(url: str, kind: str) -> Iterator[list[tuple[int, int]]]:
    """The list has what the attackers say of themselves in the end."""
    command = [sys.executable, "-m", "ops.drills.rude_clients", str(urlsplit(url).port), kind]
    rude = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    said: list[tuple[int, int]] = []
    try:
        yield said
        num_rounds, most_held = rude.communicate(timeout=_PATIENCE_S)[0].split()
        said.append((int(num_rounds), int(most_held)))
    except (subprocess.TimeoutExpired, ValueError):
        raise DrillError(f"the attackers of {kind} do not end as they should") from None
    finally:
        rude.kill()


def _findings(seen: dict[str, Seen], probed: list[Probe]) -> Findings:
    figures: dict[str, Any] = {kind: one.figures() for kind, one in seen.items()}
    outcome = count([exchange for one in seen.values() for exchange in [*one.calm, *one.attacked]])
    unready = sum(probe.status != 200 for probe in probed)
    of_time = [_check(attack, figures[attack.kind]) for attack in ATTACKS]
    checks = [equal("lost", outcome.lost, 0), equal("probes not 200", unready, 0), *of_time]
    lines = _lines(figures, of_time)
    figures |= {"probes": len(probed), "slowest_probe_ms": percentile([1e3 * probe.seconds for probe in probed], 100)}
    return Findings(outcome, checks, figures, lines)


def judged(attack: Attack) -> str:
    """The name of what is asked of the good client's latencies."""
    return f"{attack.kind}: {'slowest' if attack.takes_time else 'p99'} ms"


def _check(attack: Attack, figures: dict[str, Any]) -> Check:
    if attack.takes_time:
        return at_most(judged(attack), figures["attacked_slowest_ms"], figures["calm_slowest_ms"] + _MOST_ADDED_MS)
    return at_most(judged(attack), figures["attacked_p99_ms"], figures["calm_p99_ms"] * _MOST_TIMES)


def _lines(figures: dict[str, Any], checks: Sequence[Check]) -> list[str]:
    head = f"  {'attack':17}{'answers':>8}   {'calm p50, p99, slowest':>24}   {'attacked p50, p99, slowest':>26}   bar"
    rows = []
    for attack, check in zip(ATTACKS, checks, strict=True):
        row = figures[attack.kind]
        calm, attacked = (
            "".join(f"{row[f'{when}_{name}_ms']:>8.1f}" for name in ("p50", "p99", "slowest"))
            for when in ("calm", "attacked")
        )
        verdict = f"{check.what.partition(': ')[2]} {check.bar}: {'met' if check.is_met else 'MISSED'}"
        rows.append(f"  {attack.kind:17}{row['answers']:>8}   {calm}   {attacked:>26}   {verdict}")
    return [head, *rows]
