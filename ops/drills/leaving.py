"""The drill in which most clients hang up while their requests wait or run."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from dataclasses import replace

from api.server.connections import allow_connections
from ops.drills.drill import Findings, Stage, at_least, at_most, equal, num_stored_twice, tally
from ops.drills.random_model import SlowShape
from ops.drills.slow_worker import command
from ops.drills.system import DRILL_SETTINGS, Shape, System
from ops.drills.traffic import Question, Traffic
from ops.load.arrivals import ClosedLoop, Limits
from ops.load.connection import Connection, Target

_TOKENS_EACH = 50  # reserved by one of these requests, about: half of those who leave shall run at once
_RUNNING = 0.45  # of those who leave; the KV cache holds half
_SLOW = SlowShape(1)  # more than a second for an answer in so large a batch, and yet an iteration far below 500 ms


def clients_leave(stage: Stage) -> Findings:
    """1,000 clients leave mid-request, half while queued and half while running, beside 50 that stay. Their slots and
    reservations are free within 500 ms, and those who stay are answered."""
    num_leaving, num_staying = stage.size((1000, 50), (100, 10))
    settings = replace(DRILL_SETTINGS, max_slots=2048, kv_budget_tokens=num_leaving // 2 * _TOKENS_EACH)
    questions = stage.questions(num_leaving)[:num_staying]
    leaving = stage.questions(num_leaving)
    with stage.system(Shape(num_apis=2, settings=settings, worker_command=command(_SLOW))) as system:
        calm = stage.calm(system, questions)
        system.take_away(system.workers[0])
        with Traffic(system.urls, questions, ClosedLoop(num_staying), Limits(total=num_staying)) as traffic:
            stage.show(0.3, f"{num_leaving:,} clients come")
            num_queued, num_running, free_after_s = _come_and_leave(system, leaving, traffic)
            stage.follow(system, traffic, num_staying, "those who stay")
        left_over = system.redis.hlen("miniserve:reservations") + system.counted("reserved_tokens")
        outcome = tally(traffic.ended, calm, num_stored_twice(system))
    checks = [
        *outcome.checks(),
        at_least("left while queued", num_queued, 0.3 * num_leaving),
        at_least("left while running", num_running, 0.3 * num_leaving),
        at_most("all free after ms", round(1e3 * free_after_s, 1), 500),
        equal("reserved in the end", left_over, 0),
    ]
    details = {"left": num_leaving, "queued": num_queued, "running": num_running}
    return Findings(outcome, checks, details | {"free_after_ms": round(1e3 * free_after_s, 1)})


def _come_and_leave(system: System, questions: list[Question], traffic: Traffic) -> tuple[int, int, float]:
    """How many waited and how many ran when all hung up, and how long it took until nothing of theirs was left."""
    targets = [Target.from_url(url) for url in system.urls]
    allow_connections(2 * len(questions))
    with ExitStack() as stack:
        for number, question in enumerate(questions):
            connection = Connection(targets[number % len(targets)])
            stack.callback(connection.close)
            connection.send(json.dumps(question).encode())
            connection.flush()
        system.wait_until(lambda: _num_queued(system) >= len(questions), 20.0, "all of them waiting")
        system.workers[0].start()  # only now, or the first ones would be answered before the last ones have come
        enough = _RUNNING * len(questions)
        system.wait_until(lambda: _num_running(system) >= enough, 20.0, "nearly half of them running")
        num_queued, num_running = _num_queued(system), _num_running(system)
    left_s = time.monotonic()
    system.wait_until(lambda: _num_reserved(system) <= _num_staying(traffic), 20.0, "all slots and reservations free")
    return num_queued, num_running, time.monotonic() - left_s


def _num_queued(system: System) -> int:
    return system.redis.llen("rq:queue:correct")


def _num_running(system: System) -> int:
    return system.redis.zcard("rq:wip:correct")


def _num_reserved(system: System) -> int:
    """Also the greatest of the places that hold an id: a slot is free when its id has left rq:wip."""
    return max(system.redis.hlen("miniserve:reservations"), _num_queued(system) + _num_running(system))


def _num_staying(traffic: Traffic) -> int:
    return traffic.num_open
