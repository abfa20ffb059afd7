"""The drill on a Redis that is watched: the primary dies for good, and sentinels make a primary of its replica.

Replication is asynchronous. What the dead primary had confirmed and not yet passed on is gone; clients that wait do not
notice, because their API process asks the new primary what became of their requests, and sends again what it lacks.
"""

from __future__ import annotations

import time

from ops.chaos.drill import (
    Findings,
    Stage,
    at_most,
    dropped_answers,
    num_stored_twice,
    percentile,
    problems_of,
    tally,
)
from ops.chaos.system import Shape, System
from ops.chaos.traffic import Traffic
from ops.loadtest.arrivals import OpenLoop

_RATE_PER_S = 60.0
_CLIENTS = 1000
_LONGEST_SILENCE_S = 30.0


def kill_primary(stage: Stage) -> Findings:
    """SIGKILL the primary under load, 20 times; the dead one comes back as a replica of the next. 0 lost for clients
    that stay, and answers flow again at most 8 s after the kill, of which sentinels take the most."""
    num_kills = stage.size(20, 1)
    questions = stage.questions()
    with stage.system(Shape(num_workers=2, num_apis=2, is_watched=True)) as system:
        calm = stage.calm(system, questions)
        with Traffic(system.urls, questions, OpenLoop(_RATE_PER_S, stage.seed, _CLIENTS)) as traffic:
            silences_s = [_kill_once(stage, system, traffic, number / num_kills) for number in range(num_kills)]
            system.pause(1.0)
            traffic.send_no_more()
            stage.follow(system, traffic, len(traffic.ended) or 1, f"{num_kills} kills")
        outcome = tally(traffic.ended, calm, num_stored_twice(system))
        details = {
            "kills": num_kills,
            "silent_after_a_kill_s": {"median": percentile(silences_s, 50), "max": percentile(silences_s, 100)},
            "dropped_answers": dropped_answers(system),
            "lost": problems_of(traffic.ended),
        }
    checks = [*outcome.checks(), at_most("silent after a kill s", round(max(silences_s), 2), 8.0)]
    return Findings(outcome, checks, details)


def _kill_once(stage: Stage, system: System, traffic: Traffic, share: float) -> float:
    """Returns the seconds between the kill and the first answer that the new primary brought."""
    system.pause(stage.rng.uniform(0.5, 2.0))
    stage.show(share, f"{len(traffic.ended):,} answered")
    dead, killed_s = system.fleet.kill_primary(), time.monotonic()
    system.wait_until(lambda: system.fleet.primary() is not dead, _LONGEST_SILENCE_S, "another primary")
    chosen_s = time.monotonic()
    system.wait_until(lambda: traffic.last_ok_s > chosen_s, _LONGEST_SILENCE_S, "an answer by the new primary")
    answered_s = traffic.last_ok_s
    system.fleet.bring_back(dead)
    return answered_s - killed_s
