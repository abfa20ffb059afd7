"""Drills on the way to Redis and on Redis itself: the subscription cut, the server killed."""

from __future__ import annotations

import time

from ops.drills.drill import Findings, Stage, at_least, at_most, num_stored_twice, problems_of, tally
from ops.drills.repeated_kills import Kills, hold_kills
from ops.drills.system import Shape, System
from ops.drills.traffic import Traffic
from ops.load.arrivals import OpenLoop

_RATE_PER_S = 100.0
_CLIENTS = 1000
_SYNC_S = 1.0  # what the append-only file may lag behind


def drop_subscriber(stage: Stage) -> Findings:
    """Redis closes the API's subscription while answers are published, 1,000 times. 0 lost, added delay p99 at most
    250 ms: the next subscription comes after 20 ms and looks up all who wait."""
    num_cuts = stage.size(1000, 40)
    questions = stage.questions()
    with stage.system(Shape()) as system:
        calm = stage.calm(system, questions)
        cuts = 0
        with Traffic(system.urls, questions, OpenLoop(_RATE_PER_S, stage.seed, _CLIENTS)) as traffic:
            while cuts < num_cuts:
                system.pause(stage.rng.uniform(0.03, 0.07))
                cuts += system.redis.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
                stage.show(cuts / num_cuts, f"{cuts} cuts, {len(traffic.ended):,} answered")
            traffic.send_no_more()
            stage.follow(system, traffic, len(traffic.ended) or 1, f"{cuts} cuts")
        outcome = tally(traffic.ended, calm, num_stored_twice(system))
    checks = [
        *outcome.checks(),
        at_least("cuts", cuts, num_cuts),
        at_most("added p99 ms", outcome.added_p99_ms, 250),
    ]
    return Findings(outcome, checks, {"cuts": cuts, "lost": problems_of(traffic.ended)})


def kill_redis(stage: Stage) -> Findings:
    """SIGKILL redis-server under load (append-only file, synced every second) and start it again, 50 times. 0 lost for
    clients that stay, and answers flow again at most 2 s after it is up."""
    return hold_kills(
        stage,
        Kills(Shape(), _RATE_PER_S, stage.size(50, 2), _kill_once, what="answers flow again after s", most_s=2.0),
    )


def _kill_once(stage: Stage, system: System, traffic: Traffic) -> float:
    """Returns the seconds between a Redis that answers and the next answer to a client."""
    system.pause(stage.rng.uniform(0.3, 2 * _SYNC_S))
    system.kill_redis()
    system.pause(stage.rng.uniform(0.0, 1.0))
    system.start_redis()
    up_s = time.monotonic()
    system.wait_until(lambda: traffic.last_ok_s > up_s, 30.0, "an answer after Redis came back")
    return traffic.last_ok_s - up_s
