"""Drills that kill workers: at random times, and by a request that is poison."""

from __future__ import annotations

import sys

from ops.drills.drill import (
    Findings,
    Stage,
    at_least,
    at_most,
    dropped_answers,
    equal,
    num_stored_twice,
    problems_of,
    tally,
)
from ops.drills.system import Shape, System
from ops.drills.traffic import Traffic
from ops.load.arrivals import ClosedLoop, Limits, OpenLoop

# Far below what one worker can do: little may pile up while both are away.
_RATE_PER_S = 60.0
_KILL_EVERY_S = (0.5, 3.3)
_CLIENTS = 1000
_SERIES_EVERY_S = 1.5
_SERIES_CLIENTS = 32
_BATCH = 65
_MOST_CRASHES = 5  # with the batch, with its group, and three by itself
POISON = "The poison goed into the river."  # the sentence at which the worker of this drill dies


def kill_worker(stage: Stage) -> Findings:
    """SIGKILL one of two workers that holds requests, at random times. 0 lost, 0 answered twice, answers as in the calm
    run, added delay p99 at most 3 s: a dead worker's lease of 1.2 s and the start of its successor."""
    num_kills, num_requests = stage.size(100, 2), stage.size(10_000, 200)
    questions = stage.questions()
    with stage.system(Shape(num_workers=2)) as system:
        calm = stage.calm(system, questions)
        arrivals = OpenLoop(_RATE_PER_S, stage.seed, _CLIENTS)
        with Traffic(system.urls, questions, arrivals) as traffic:
            kills = _kill_on(stage, system, traffic, (num_kills, num_requests))
        outcome = tally(traffic.ended, calm, num_stored_twice(system))
        details = {"kills": kills, "dropped_answers": dropped_answers(system), "lost": problems_of(traffic.ended)}
    checks = [
        *outcome.checks(),
        at_least("kills", kills, num_kills),
        at_least("requests", outcome.requests, num_requests),
        at_most("added p99 ms", outcome.added_p99_ms, 3000),
    ]
    return Findings(outcome, checks, details)


def _kill_on(stage: Stage, system: System, traffic: Traffic, least: tuple[int, int]) -> int:
    """So many kills, and the load until there were enough requests; returns the number of kills."""
    num_kills, num_requests = least
    kills = 0
    while kills < num_kills or len(traffic.ended) < num_requests:
        system.pause(stage.rng.uniform(*stage.size(_KILL_EVERY_S, (0.2, 1.2))))
        if kills < num_kills:
            system.kill_holder(stage.rng)
            kills += 1
        stage.show(len(traffic.ended) / num_requests, f"{kills} kills, {len(traffic.ended):,} answered")
    traffic.send_no_more()
    stage.follow(system, traffic, len(traffic.ended) or 1, f"{kills} kills")
    return kills


def kill_series(stage: Stage) -> Findings:
    """SIGKILL one of two workers every 1.5 s, 20 times, while 32 clients wait for what the two run. 0 lost, 0 answered
    twice, answers as in the calm run, and none of them takes more than 4 s, however often its worker died."""
    num_kills = stage.size(20, 4)
    questions = stage.questions()
    with stage.system(Shape(num_workers=2)) as system:
        calm = stage.calm(system, questions)
        with Traffic(system.urls, questions, ClosedLoop(_SERIES_CLIENTS)) as traffic:
            for number in range(num_kills):
                system.pause(_SERIES_EVERY_S)
                system.kill_one(system.workers, stage.rng)
                stage.show(number / num_kills, f"{number} kills, {len(traffic.ended):,} answered")
            system.pause(_SERIES_EVERY_S)
            traffic.send_no_more()
            stage.follow(system, traffic, len(traffic.ended) or 1, f"{num_kills} kills")
        outcome = tally(traffic.ended, calm, num_stored_twice(system))
        details = {"kills": num_kills, "dropped_answers": dropped_answers(system), "lost": problems_of(traffic.ended)}
    return Findings(outcome, [*outcome.checks(), at_most("longest ms", outcome.max_ms, 4000)], details)


def poison(stage: Stage) -> Findings:
    """One of 65 requests of a batch kills every worker that computes it. It is given up after at most 5 crashes, and
    the others are answered within 15 s, as in the calm run."""
    questions = [dict(question) for question in stage.questions(_BATCH)[:_BATCH]]
    worker_command = (sys.executable, "-m", "ops.drills.poisoned_worker")
    with stage.system(Shape(worker_command=worker_command)) as system:
        calm = stage.calm(system, questions)
        questions[stage.rng.randrange(_BATCH)]["sentence"] = POISON
        system.take_away(system.workers[0])
        with Traffic(system.urls, questions, ClosedLoop(_BATCH), Limits(total=_BATCH)) as traffic:
            system.wait_until(lambda: system.redis.llen("rq:queue:correct") == _BATCH, 10.0, "a batch that waits")
            crashes = _start_until_over(stage, system, traffic)
        neighbours = [exchange for exchange in traffic.ended if exchange.question["sentence"] != POISON]
        poisoned = [exchange for exchange in traffic.ended if exchange.question["sentence"] == POISON]
        outcome = tally(neighbours, calm, num_stored_twice(system))
    checks = [
        *outcome.checks(),
        equal("neighbours", outcome.requests, _BATCH - 1),
        equal("poison given up", sum(exchange.slug == "request-failed" for exchange in poisoned), 1),
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
