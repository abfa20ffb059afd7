"""The faults of the drills that kill, cut and restart, and what these drills look at afterwards."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ops.drills.drill import Stage, percentile
from ops.drills.system import System
from ops.drills.traffic import Exchange, Traffic, document_of, key_header
from ops.load.client import Client, run

_ASKED_AGAIN = 200
_SERIES_EVERY_S = 1.5
_LONGEST_SILENCE_S = 30.0
_SETTLE_S = 1.0  # after the last kill; also what the append-only file may lag behind


def kill_holders(stage: Stage, system: System, traffic: Traffic) -> dict[str, Any]:
    """SIGKILL to a worker that holds requests, at random times."""

    def kill() -> None:
        system.pause(stage.rng.uniform(*stage.size((0.4, 3.2), (0.1, 1.1))))
        system.kill_holder(stage.rng)

    return _kill_on(stage, system, traffic, stage.size(100, 2), kill)


def kill_replicas(stage: Stage, system: System, traffic: Traffic) -> dict[str, Any]:
    """SIGKILL to one of the API replicas, at random times."""

    def kill() -> None:
        system.pause(stage.rng.uniform(0.0, 0.3))
        system.wait_until(system.is_ready, 30.0, "two replicas")  # else all that is killed is a start
        system.pause(stage.rng.uniform(0.05, 0.15))  # until clients wait at both again
        system.kill_one(system.apis, stage.rng)

    return _kill_on(stage, system, traffic, stage.size(50, 2), kill)


def _kill_on(
    stage: Stage, system: System, traffic: Traffic, num_kills: int, kill: Callable[[], None]
) -> dict[str, Any]:
    """So many kills, and the load until there were enough requests."""
    kills, num_requests = 0, stage.size(10_000, 200)
    while kills < num_kills or len(traffic.ended) < num_requests:
        if kills < num_kills:
            kill()
            kills += 1
        system.pause(0.1)
        stage.show(len(traffic.ended) / num_requests, f"{kills} kills, {len(traffic.ended):,} answered")
    return {"kills": kills}


def kill_series(stage: Stage, system: System, traffic: Traffic) -> dict[str, Any]:
    """SIGKILL to one of the workers, again and again."""
    num_kills = stage.size(20, 4)
    for number in range(num_kills):
        system.pause(_SERIES_EVERY_S)
        system.kill_one(system.workers, stage.rng)
        stage.show(number / num_kills, f"{number} kills, {len(traffic.ended):,} answered")
    system.pause(_SERIES_EVERY_S)
    return {"kills": num_kills}


def restart_all(stage: Stage, system: System, traffic: Traffic) -> dict[str, Any]:
    """SIGTERM to one process after the other, each replaced before the next is ended."""
    num_restarts, num_requests = 0, stage.size(10_000, 200)
    while num_restarts == 0 or len(traffic.ended) < num_requests:
        for member in system.members:
            system.restart(member)
            num_restarts += 1
            stage.show(len(traffic.ended) / num_requests, f"{num_restarts} restarts")
    return {"restarts": num_restarts}


def cut_subscriptions(stage: Stage, system: System, traffic: Traffic) -> dict[str, Any]:
    """Redis closes the API's subscription while answers are published."""
    cuts, num_cuts = 0, stage.size(1000, 40)
    while cuts < num_cuts:
        system.pause(stage.rng.uniform(0.03, 0.07))
        cuts += system.redis.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
        stage.show(cuts / num_cuts, f"{cuts} cuts, {len(traffic.ended):,} answered")
    return {"cuts": cuts}


def kill_redis(stage: Stage, system: System, traffic: Traffic) -> dict[str, Any]:
    """The silence is that between a Redis that answers and the next answer to a client."""

    def kill_once() -> float:
        system.pause(stage.rng.uniform(0.3, 2.0))
        system.kill_redis()
        system.pause(stage.rng.uniform(0.0, 1.0))
        system.start_redis()
        up_s = time.monotonic()
        return _next_answer_s(system, traffic) - up_s

    return _silences(stage, system, stage.size(50, 2), kill_once)


def kill_primary(stage: Stage, system: System, traffic: Traffic) -> dict[str, Any]:
    """The silence is that between the kill and the first answer that the new primary brought."""

    def kill_once() -> float:
        system.pause(stage.rng.uniform(0.5, 2.0))
        dead, killed_s = system.fleet.kill_primary(), time.monotonic()
        system.wait_until(lambda: system.fleet.primary() is not dead, _LONGEST_SILENCE_S, "another primary")
        answered_s = _next_answer_s(system, traffic)
        system.fleet.bring_back(dead)
        return answered_s - killed_s

    return _silences(stage, system, stage.size(20, 1), kill_once)


def _next_answer_s(system: System, traffic: Traffic) -> float:
    since_s = time.monotonic()
    system.wait_until(lambda: traffic.last_ok_s > since_s, _LONGEST_SILENCE_S, "an answer after the kill")
    return traffic.last_ok_s


def _silences(stage: Stage, system: System, num_kills: int, kill_once: Callable[[], float]) -> dict[str, Any]:
    silences_s = []
    for number in range(num_kills):
        stage.show(number / num_kills, f"{number} kills")
        silences_s.append(kill_once())
    system.pause(_SETTLE_S)
    longest_s = round(max(silences_s), 2)
    return {"kills": num_kills, "silence_median_s": percentile(silences_s, 50), "silence_longest_s": longest_s}


def sent_again(system: System, ended: Sequence[Exchange]) -> dict[str, Any]:
    """The last requests are asked for again, at both replicas, and how often the engine ran is counted."""
    system.wait_until(system.is_ready, 30.0, "two replicas")
    num_calm = len({exchange.question["sentence"] for exchange in ended})
    num_runs = system.counted("done") + system.counted("duplicates") - num_calm
    return {
        "sent_again": sum(bool(exchange.failovers) for exchange in ended),
        "runs_more": num_runs - len(ended),
        "told_otherwise": sum(run(_num_told_otherwise(url, ended[-_ASKED_AGAIN:])) for url in system.urls),
    }


async def _num_told_otherwise(url: str, exchanges: Sequence[Exchange]) -> int:
    """Answers, their request ids included, that this replica does not repeat to who sends key and body again."""
    client, num_other = Client(url), 0
    for one in exchanges:
        reply = await client.request("POST", "/correct", json.dumps(one.question).encode(), key_header(one.key))
        num_other += document_of(reply.body) != one.answer | {"request_id": one.request_id}
    await client.close()
    return num_other


def went_elsewhere(system: System, ended: Sequence[Exchange]) -> dict[str, Any]:
    """How often another replica was tried, and why."""
    return {"went_to_the_other_replica": dict(Counter(reason for one in ended for reason in one.failovers))}
