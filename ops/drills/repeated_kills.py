"""What the drills on Redis itself have in common: kill it again and again under load, and see when answers flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ops.drills.drill import (
    Findings,
    Stage,
    at_most,
    dropped_answers,
    num_stored_twice,
    percentile,
    problems_of,
    tally,
)
from ops.drills.system import Shape, System
from ops.drills.traffic import Traffic
from ops.load.arrivals import OpenLoop

_CLIENTS = 1000
_SETTLE_S = 1.0  # after the last kill; also what the append-only file may lag behind


@dataclass(frozen=True, slots=True)
class Kills:
    """`kill_once` kills, waits for an answer, and returns the seconds of silence, which may be `most_s`."""

    shape: Shape
    rate_per_s: float
    num: int
    kill_once: Callable[[Stage, System, Traffic], float]
    what: str  # the silence is called
    most_s: float


def hold_kills(stage: Stage, kills: Kills) -> Findings:
    """0 lost for clients that stay, nothing twice, nothing wrong, and no silence longer than it may be."""
    questions = stage.questions()
    silences_s = []
    with stage.system(kills.shape) as system:
        calm = stage.calm(system, questions)
        with Traffic(system.urls, questions, OpenLoop(kills.rate_per_s, stage.seed, _CLIENTS)) as traffic:
            for number in range(kills.num):
                stage.show(number / kills.num, f"{len(traffic.ended):,} answered")
                silences_s.append(kills.kill_once(stage, system, traffic))
            system.pause(_SETTLE_S)
            traffic.send_no_more()
            stage.follow(system, traffic, len(traffic.ended) or 1, f"{kills.num} kills")
        outcome = tally(traffic.ended, calm, num_stored_twice(system))
        details = {
            "kills": kills.num,
            "silence_s": {"median": percentile(silences_s, 50), "max": percentile(silences_s, 100)},
            "dropped_answers": dropped_answers(system),
            "lost": problems_of(traffic.ended),
        }
    checks = [*outcome.checks(), at_most(kills.what, round(max(silences_s), 2), kills.most_s)]
    return Findings(outcome, checks, details)
