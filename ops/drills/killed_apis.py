"""Drills that end API replicas: by SIGKILL under waiting clients, and in order, one process after the other."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ops.drills.drill import (
    Findings,
    Stage,
    at_least,
    dropped_answers,
    equal,
    num_stored_twice,
    problems_of,
    reasons_to_fail_over,
    tally,
)
from ops.drills.system import Shape, System
from ops.drills.traffic import Exchange, Habits, Traffic, document_of, key_header
from ops.load.arrivals import ClosedLoop, OpenLoop
from ops.load.connection import Connection, Target

_KEYED_CLIENTS = 32
_ASKED_AGAIN = 200
_ROLLING_RATE_PER_S = 100.0
_CLIENTS = 1000


def kill_api(stage: Stage) -> Findings:
    """SIGKILL one of two API replicas while its clients wait; they send again to the other with the same
    `Idempotency-Key`. The same answer, the engine ran each once, and both replicas still tell it afterwards."""
    num_kills, num_requests = stage.size(50, 2), stage.size(10_000, 300)
    questions = stage.questions()
    with stage.system(Shape(num_apis=2)) as system:
        calm = stage.calm(system, questions)
        num_run_before = num_run(system)
        keyed = Habits(is_keyed=True)
        with Traffic(system.urls, questions, ClosedLoop(_KEYED_CLIENTS), habits=keyed) as traffic:
            kills = _kill_on(stage, system, traffic, (num_kills, num_requests))
        num_failovers = sum(bool(exchange.failovers) for exchange in traffic.ended)
        ran = num_run(system) - num_run_before
        system.wait_until(system.is_ready, 30.0, "two replicas")
        told_otherwise = _told_otherwise(system, traffic.ended[-_ASKED_AGAIN:])
        outcome = tally(traffic.ended, calm, num_stored_twice(system))
    checks = [
        *outcome.checks(),
        at_least("kills", kills, num_kills),
        at_least("requests sent again", num_failovers, 1),
        equal("told otherwise when asked again", told_otherwise, 0),
        equal("engine runs more than requests", ran - outcome.requests, 0),
    ]
    details = {"kills": kills, "sent_again": num_failovers, "runs": ran, "lost": problems_of(traffic.ended)}
    return Findings(outcome, checks, details)


def _kill_on(stage: Stage, system: System, traffic: Traffic, least: tuple[int, int]) -> int:
    num_kills, num_requests = least
    kills = 0
    while kills < num_kills or len(traffic.ended) < num_requests:
        system.pause(stage.rng.uniform(0.1, 0.4))
        if kills < num_kills:
            system.wait_until(system.is_ready, 30.0, "two replicas")  # else all that is killed is a start
            system.pause(stage.rng.uniform(0.05, 0.15))  # until clients wait at both again
            system.kill_one(system.apis, stage.rng)
            kills += 1
        stage.show(kills / num_kills, f"{kills} kills, {len(traffic.ended):,} answered")
    traffic.send_no_more()
    stage.follow(system, traffic, len(traffic.ended) or 1, f"{kills} kills")
    return kills


def _told_otherwise(system: System, exchanges: Sequence[Exchange]) -> int:
    """Answers, their request ids included, that either replica does not repeat to who sends key and body again."""
    num_other = 0
    for url in system.urls:
        connection = Connection(Target.from_url(url))
        for exchange in exchanges:
            reply = connection.ask(json.dumps(exchange.question).encode(), key_header(exchange.key))
            num_other += document_of(reply.body) != exchange.answer | {"request_id": exchange.request_id}
        connection.close()
    return num_other


def num_run(system: System) -> int:
    """How often the engine has finished a request: answers that were stored, and those that came after them."""
    return system.counted("done") + system.counted("duplicates")


def rolling_restart(stage: Stage) -> Findings:
    """SIGTERM two API replicas and two workers, one after the other, each replaced before the next is ended. 0 failed:
    the clients go on to the other replica as a balancer does, and how often that was needed is counted."""
    num_requests = stage.size(10_000, 200)
    questions = stage.questions()
    with stage.system(Shape(num_workers=2, num_apis=2)) as system:
        calm = stage.calm(system, questions)
        arrivals = OpenLoop(_ROLLING_RATE_PER_S, stage.seed, _CLIENTS)
        num_restarts = 0
        with Traffic(system.urls, questions, arrivals) as traffic:
            while num_restarts == 0 or len(traffic.ended) < num_requests:
                for member in system.members:
                    system.restart(member)
                    num_restarts += 1
                    stage.show(len(traffic.ended) / num_requests, f"{num_restarts} restarts")
            traffic.send_no_more()
            stage.follow(system, traffic, len(traffic.ended) or 1, f"{num_restarts} restarts")
        outcome = tally(traffic.ended, calm, num_stored_twice(system))
        details = {
            "restarts": num_restarts,
            "went_to_the_other_replica": reasons_to_fail_over(traffic.ended),
            "dropped_answers": dropped_answers(system),
            "lost": problems_of(traffic.ended),
        }
    checks = [*outcome.checks(), at_least("restarts", num_restarts, 4), equal("refused", outcome.refused, 0)]
    return Findings(outcome, checks, details)
