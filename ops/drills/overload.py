"""The drill that offers ten times what the system can do.

The engine is slowed to about 100 corrections/s, so that neither the client nor the API is the limit. The bound of the
queue is 128 requests: the KV budget runs about 90 of these at once, and the rest is the next batch, so that the engine
never waits for the API, and an accepted request waits little longer than the engine's own time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ops.drills.drill import (
    Check,
    Findings,
    Stage,
    answers_per_s,
    at_least,
    at_most,
    count,
    equal,
    percentile,
    problems_of,
)
from ops.drills.random_model import calibrate
from ops.drills.slow_worker import command
from ops.drills.system import DRILL_SETTINGS, Shape, System
from ops.drills.traffic import Exchange, Habits, Question, Traffic
from ops.load.arrivals import ClosedLoop, Limits

BOUND = 128
_PER_S = 100.0
_OVERLOAD = 10
_HIGH_LOAD = 0.9
_SETTINGS = replace(DRILL_SETTINGS, max_queue_requests=BOUND)


def overload(stage: Stage) -> Findings:
    """Ten times the peak for 60 s at 4 replicas, open loop. Goodput at least 95 % of the peak; p99 of the accepted at
    most twice that at 0.9 load; refusals p99 at most 25 ms; the bound never exceeded; after one burst of twice the
    bound at least 90 % of those who obey Retry-After are admitted at their first retry."""
    stage.show(0.0, "finding the number of layers")
    slow = calibrate(_PER_S, _SETTINGS)
    shape = Shape(num_apis=4, settings=_SETTINGS, worker_command=command(slow))
    questions = stage.questions()
    with stage.system(shape) as system:
        closed = stage.load(system, questions, ClosedLoop(BOUND), stage.size(20.0, 2.0))
        peak_per_s = answers_per_s(closed.ended)
        high = stage.load(system, questions, stage.open_loop(_HIGH_LOAD * peak_per_s), stage.size(30.0, 2.0))
        over = stage.load(system, questions, stage.open_loop(_OVERLOAD * peak_per_s), stage.size(60.0, 3.0))
        burst = _burst(stage, system, questions)
    figures = {"layers": slow.num_layers, "width": slow.width, "bound": BOUND, "peak_per_s": round(peak_per_s, 1)}
    figures |= _latencies(high, over) | {"goodput_per_s": round(answers_per_s(over.ended), 1)} | _obedience(burst)
    figures |= {"lost": problems_of([exchange for exchange in over.ended if not exchange.refusals])}
    figures |= {"most_reserved_requests": stage.watches[-1].most_requests}
    figures |= {"most_reserved_tokens": stage.watches[-1].most_tokens}
    outcome = count(over.ended, lambda exchange: bool(exchange.refusals))  # they do not come back here
    return Findings(outcome, [equal("lost", outcome.lost, 0), *_checks(figures)], figures)


def _burst(stage: Stage, system: System, questions: list[Question]) -> list[Exchange]:
    """Twice as many as the queue holds, at once, into an empty one."""
    system.wait_until(lambda: system.redis.hlen("miniserve:reservations") == 0, 30.0, "an empty queue")
    num_clients = 2 * BOUND
    once = Habits(retries=False, obeys_once=True)
    with Traffic(system.urls, questions, ClosedLoop(num_clients), Limits(total=num_clients), once) as traffic:
        stage.follow(system, traffic, num_clients, "one burst")
    return traffic.ended


def _latencies(high: Traffic, over: Traffic) -> dict[str, Any]:
    refusals_ms = [1e3 * said_s for exchange in over.ended for said_s, _ in exchange.refusals]
    return {
        "accepted_p99_ms_at_0.9_load": percentile(_accepted_ms(high.ended), 99),
        "accepted_p99_ms": percentile(_accepted_ms(over.ended), 99),
        "refusals_p50_ms": percentile(refusals_ms, 50),
        "refusals_p99_ms": percentile(refusals_ms, 99),
        "refused_at_0.9_load": sum(len(exchange.refusals) for exchange in high.ended),
    }


def _accepted_ms(exchanges: list[Exchange]) -> list[float]:
    return [1e3 * exchange.latency_s for exchange in exchanges if exchange.is_ok]


def _obedience(burst: list[Exchange]) -> dict[str, Any]:
    refused = [exchange for exchange in burst if exchange.refusals]
    admitted = sum(exchange.is_ok for exchange in refused)
    seconds = [after_s for exchange in refused for _, after_s in exchange.refusals[:1]]
    return {
        "burst_refused": len(refused),
        "burst_admitted_at_first_retry": round(admitted / len(refused), 3) if refused else None,
        "retry_after_s": {str(second): seconds.count(second) for second in sorted(set(seconds))},
    }


def _checks(figures: dict[str, Any]) -> list[Check]:
    return [
        at_least("goodput per s", figures["goodput_per_s"], 0.95 * figures["peak_per_s"]),
        at_most("accepted p99 ms", figures["accepted_p99_ms"], 2 * (figures["accepted_p99_ms_at_0.9_load"] or 0.0)),
        at_most("refusals p99 ms", figures["refusals_p99_ms"], 25),
        at_most("most reserved requests", figures["most_reserved_requests"], BOUND),
        at_most("most reserved tokens", figures["most_reserved_tokens"], _SETTINGS.max_queue_tokens),
        at_least("admitted at first retry", figures["burst_admitted_at_first_retry"], 0.9),
    ]
