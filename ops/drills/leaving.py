"""Drills on single requests: clients that hang up while theirs wait or run, and one that kills its worker."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from ops.drills.drill import ONCE, Findings, Stage, at_least, at_most, equal, num_stored_twice, tally
from ops.drills.system import DRILL_SETTINGS, Shape, System
from ops.drills.traffic import Question, Traffic
from ops.drills.workers import POISON, POISONED, SlowShape
from ops.load.arrivals import ClosedLoop, Limits

_TOKENS_EACH = 50  # reserved by one of these requests, about: half of those who leave shall run at once
_RUNNING = 0.45  # of those who leave; the KV cache holds half
_SLOW = SlowShape(1)  # more than a second for an answer in so large a batch, and yet an iteration far below 500 ms
_BATCH = 65
_MOST_CRASHES = 5  # with the batch, with its group, and three by itself


def clients_leave(stage: Stage) -> Findings:
    """1,000 clients leave mid-request, half while queued and half while running, beside 50 that stay. Their slots and
    reservations are free within 500 ms, and those who stay are answered."""
    num_leaving, num_staying = stage.size((1000, 50), (100, 10))
    settings = replace(DRILL_SETTINGS, max_slots=2048, kv_budget_tokens=num_leaving // 2 * _TOKENS_EACH)
    leaving = stage.questions(num_leaving)
    questions = leaving[:num_staying]
    with stage.system(Shape(num_apis=2, settings=settings, worker_command=_SLOW.command)) as system:
        calm = stage.calm(system, questions)
        system.take_away(system.workers[0])
        with Traffic(system.urls, questions, ClosedLoop(num_staying), Limits(total=num_staying)) as traffic:
            stage.show(0.3, f"{num_leaving:,} clients come")
            num_queued, num_running, free_after_ms = _come_and_leave(system, leaving, traffic)
            stage.follow(system, traffic, "those who stay")
        left_over = system.num_reserved() + system.counted("reserved_tokens")
        outcome = tally(traffic.ended, calm, num_stored_twice(system))
    checks = [
        *outcome.checks(),
        at_least("left while queued", num_queued, 0.3 * num_leaving),
        at_least("left while running", num_running, 0.3 * num_leaving),
        at_most("all free after ms", free_after_ms, 500),
        equal("reserved in the end", left_over, 0),
    ]
    return Findings(outcome, checks, {"left": num_leaving})


def _come_and_leave(system: System, questions: Sequence[Question], staying: Traffic) -> tuple[int, int, float]:
    """How many waited and how many ran when all hung up, and how long it took until nothing of theirs was left."""
    num = len(questions)
    with Traffic(system.urls, questions, ClosedLoop(num), Limits(total=num), ONCE) as leaving:
        system.wait_until(lambda: system.num_queued() >= num, 20.0, "all of them waiting")
        system.workers[0].start()  # only now, or the first ones would be answered before the last ones have come
        system.wait_until(lambda: system.num_running() >= _RUNNING * num, 20.0, "nearly half of them running")
        num_queued, num_running = system.num_queued(), system.num_running()
        leaving.hang_up()
    left_s = time.monotonic()
    # Also the greatest of the places that hold an id: a slot is free when its id has left rq:wip.
    system.wait_until(
        lambda: max(system.num_reserved(), system.num_queued() + system.num_running()) <= staying.num_open,
        20.0, "all slots and reservations free",
    )  # fmt: skip
    return num_queued, num_running, round(1e3 * (time.monotonic() - left_s), 1)


def poison(stage: Stage) -> Findings:
    """One of 65 requests of a batch kills every worker that computes it. It is given up after at most 5 crashes, and
    the others are answered within 15 s, as in the calm run."""
    questions = [dict(question) for question in stage.questions(_BATCH)[:_BATCH]]
    with stage.system(Shape(worker_command=POISONED)) as system:
        calm = stage.calm(system, questions)
        questions[stage.rng.randrange(_BATCH)]["sentence"] = POISON
        system.take_away(system.workers[0])
        with Traffic(system.urls, questions, ClosedLoop(_BATCH), Limits(total=_BATCH)) as traffic:
            system.wait_until(lambda: system.num_queued() == _BATCH, 10.0, "a batch that waits")
            crashes = _start_until_over(stage, system, traffic)
        neighbours = [exchange for exchange in traffic.ended if exchange.question["sentence"] != POISON]
        given_up = [one.slug for one in traffic.ended if one not in neighbours]
        outcome = tally(neighbours, calm, num_stored_twice(system))
    checks = [
        *outcome.checks(),
        equal("neighbours", outcome.requests, _BATCH - 1),
        equal("poison given up", given_up.count("request-failed"), 1),
        at_most("crashes", crashes, _MOST_CRASHES),
        at_most("longest ms", outcome.max_ms, 15_000),
    ]
    return Findings(outcome, checks, {"crashes": crashes})


def _start_until_over(stage: Stage, system: System, traffic: Traffic) -> int:
    """Start the worker whenever it has died; returns how often it did while requests waited."""
    worker, crashes = system.workers[0], 0
    worker.start()
    while not traffic.is_over:
        if not worker.is_alive:
            crashes += 1
            worker.start()
        stage.show(len(traffic.ended) / _BATCH, f"{crashes} crashes, {len(traffic.ended)} answered")
        system.pause(0.02)
    return crashes
