"""The drill that attacks the door: how long a good client's answers take meanwhile, compared with calm.

The attackers are a process of their own (rude_clients.py), so that the good client's clock does not wait for them. Calm
and attack take turns, because a machine is not the same for ten minutes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from ops.drills.drill import ONCE, Check, Findings, Stage, at_most, equal, latency_ms, problems_of, tally
from ops.drills.probing import asking, read_probes
from ops.drills.rude_clients import ATTACKS
from ops.drills.system import DRILL_SETTINGS, DrillError, Shape, System
from ops.drills.traffic import Exchange, Question
from ops.tables import table

_RATE_PER_S = 40.0  # of the good client, by the clock: an answer that is late delays no later request
_GOOD = replace(ONCE, addresses=("127.0.0.3",))
_MOST_ADDED_MS = 100.0
_MOST_TIMES = 2.0
_PROBE_EVERY_S = 0.1
_PATIENCE_S = 40.0  # for attackers that wait for an answer
_UNREAD = "api 2"
_PERCENTS = {"p50": 50, "p99": 99, "slowest": 100}


def judged(kind: str) -> str:
    """The name of what is asked of the good client's latencies."""
    return f"{kind}: {'slowest' if ATTACKS[kind].takes_time else 'p99'} ms"


@dataclass(slots=True)
class Seen:
    """What became of the good client's requests, in calm and under attack."""

    calm: list[Exchange] = field(default_factory=list)
    attacked: list[Exchange] = field(default_factory=list)
    rounds: int = 0
    most_held: int = 0  # connections, of the attackers

    def figures(self) -> dict[str, Any]:
        by_time = {"calm": self.calm, "attacked": self.attacked}
        times = {
            f"{when}_{name}_ms": latency_ms(exchanges, percent)
            for when, exchanges in by_time.items()
            for name, percent in _PERCENTS.items()
        }
        counts = {"answers": len(self.attacked), "rounds": self.rounds, "most_held": self.most_held}
        return times | counts | {"lost_by": problems_of(self.attacked)}


def attacks(stage: Stage) -> Findings:
    """Eleven attacks, each in turns with calm, on a system of two replicas; nobody reads the log of the second. All
    requests of a good client are answered, its slowest answer takes at most 100 ms longer than in calm where the
    attack costs time, its p99 twice as long where it holds places, and /readyz of both replicas stays 200."""
    questions = stage.questions()
    shape = Shape(num_apis=2, settings=replace(DRILL_SETTINGS, log_level="info", api_processes="1"), unread=_UNREAD)
    with stage.system(shape) as system, ExitStack() as probers:
        probes = [probers.enter_context(asking(url, _PROBE_EVERY_S)) for url in system.urls]
        stage.calm(system, questions)
        seen = {kind: _hold(stage, system, questions, kind) for kind in ATTACKS}
        probed = [probe for rows in probes for probe in read_probes(rows)]
    figures = {kind: one.figures() for kind, one in seen.items()}
    outcome = tally([exchange for one in seen.values() for exchange in [*one.calm, *one.attacked]])
    of_time = [_check(kind, figures[kind]) for kind in ATTACKS]
    unready = sum(probe.status != 200 for probe in probed)
    checks = [equal("lost", outcome.lost, 0), equal("probes not 200", unready, 0), *of_time]
    return Findings(outcome, checks, figures | {"probes": len(probed)}, _table(figures, of_time))


def _hold(stage: Stage, system: System, questions: list[Question], kind: str) -> Seen:
    attack, seen = ATTACKS[kind], Seen()
    calm_url, url = system.urls[0], system.urls[attack.replica]
    # What is held ends by its age.
    num_turns, seconds = stage.size((2, 20.0) if attack.holds else (3, 5.0), (1, 1.0))

    def ask(good_url: str) -> list[Exchange]:
        by_the_clock = stage.open_loop(_RATE_PER_S)
        return stage.load(system, questions, by_the_clock, seconds, replace(_GOOD, urls=(good_url,)))

    for turn in range(num_turns):
        stage.show(turn / num_turns, kind)
        seen.calm += ask(calm_url)
        with _attacking(url, kind, seen):
            seen.attacked += ask(url)
    return seen


@contextmanager
def _attacking(url: str, kind: str, seen: Seen) -> Iterator[None]:
    command = [sys.executable, "-m", "ops.drills.rude_clients", str(urlsplit(url).port), kind]
    rude = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield
        num_rounds, most_held = rude.communicate(timeout=_PATIENCE_S)[0].split()
        seen.rounds, seen.most_held = seen.rounds + int(num_rounds), max(seen.most_held, int(most_held))
    except (subprocess.TimeoutExpired, ValueError):
        raise DrillError(f"the attackers of {kind} do not end as they should") from None
    finally:
        rude.kill()


def _check(kind: str, figures: dict[str, Any]) -> Check:
    if ATTACKS[kind].takes_time:
        return at_most(judged(kind), figures["attacked_slowest_ms"], figures["calm_slowest_ms"] + _MOST_ADDED_MS)
    return at_most(judged(kind), figures["attacked_p99_ms"], figures["calm_p99_ms"] * _MOST_TIMES)


def _table(figures: dict[str, Any], checks: list[Check]) -> str:
    columns = [f"{when}_{name}_ms" for when in ("calm", "attacked") for name in _PERCENTS]
    rows = [
        [kind, row["answers"], *(row[column] for column in columns), check.bar, "met" if check.is_met else "MISSED"]
        for (kind, row), check in zip(figures.items(), checks, strict=True)
    ]
    headings = [f">{column.removesuffix('_ms').replace('_', ' ')} ms" for column in columns]
    return table(["attack", ">answers", *headings, "bar", ""], rows)
