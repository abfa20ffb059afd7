"""The drill on a Redis that is watched: the primary dies for good, and sentinels make a primary of its replica.

Replication is asynchronous. What the dead primary had confirmed and not yet passed on is gone; clients that wait do not
notice, because their API process asks the new primary what became of their requests, and sends again what it lacks.
"""

from __future__ import annotations

import time

from ops.drills.drill import Findings, Stage
from ops.drills.repeated_kills import Kills, hold_kills
from ops.drills.system import Shape, System
from ops.drills.traffic import Traffic

_RATE_PER_S = 60.0
_LONGEST_SILENCE_S = 30.0


def kill_primary(stage: Stage) -> Findings:
    """SIGKILL the primary under load, 20 times; the dead one comes back as a replica of the next. 0 lost for clients
    that stay, and answers flow again at most 8 s after the kill, of which sentinels take the most."""
    shape = Shape(num_workers=2, num_apis=2, is_watched=True)
    return hold_kills(
        stage, Kills(shape, _RATE_PER_S, stage.size(20, 1), _kill_once, what="silent after a kill s", most_s=8.0)
    )


def _kill_once(stage: Stage, system: System, traffic: Traffic) -> float:
    """Returns the seconds between the kill and the first answer that the new primary brought."""
    system.pause(stage.rng.uniform(0.5, 2.0))
    dead, killed_s = system.fleet.kill_primary(), time.monotonic()
    system.wait_until(lambda: system.fleet.primary() is not dead, _LONGEST_SILENCE_S, "another primary")
    chosen_s = time.monotonic()
    system.wait_until(lambda: traffic.last_ok_s > chosen_s, _LONGEST_SILENCE_S, "an answer by the new primary")
    answered_s = traffic.last_ok_s
    system.fleet.bring_back(dead)
    return answered_s - killed_s
