"""The drills on more than the system can do: ten times its load, and far more clients than the queue holds requests.

In the first the engine is slowed to about 100 corrections/s, so that neither the client nor the API is the limit. The
bound of the queue is 128 requests: the KV budget runs about 90 of these at once, and the rest is the next batch, so
that the engine never waits for the API, and an accepted request waits little longer than the engine's own time. In the
second the replica is the bottleneck: what it spends on refusals it cannot spend on answers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from ops.drills.drill import (
    ONCE,
    Findings,
    Stage,
    answers_per_s,
    at_least,
    at_most,
    equal,
    latency_ms,
    percentile,
    problems_of,
    refusals_ms,
    tally,
)
from ops.drills.system import DRILL_SETTINGS, Shape, System
from ops.drills.traffic import Exchange, Habits, Question, Traffic
from ops.drills.workers import calibrate
from ops.load.arrivals import ClosedLoop, Limits

BOUND = 128
_PER_S = 100.0
_OVERLOAD = 10
_HIGH_LOAD = 0.9
_SETTINGS = replace(DRILL_SETTINGS, max_queue_requests=BOUND)
_ADDRESSES = tuple(f"127.0.0.{number}" for number in range(2, 14))  # a single one may hold half of the queue only
_GOODPUT = 0.8  # of the peak, beside those who do not wait
_POLITE = Habits(addresses=_ADDRESSES)
_RUDE = replace(ONCE, addresses=_ADDRESSES)  # a refused client has another request at once


def overload(stage: Stage) -> Findings:
    """Ten times the peak for 60 s at 4 replicas, open loop. Goodput at least 95 % of the peak; p99 of the accepted at
    most twice that at 0.9 load; refusals p99 at most 25 ms; the bound never exceeded; after one burst of twice the
    bound at least 90 % of those who obey Retry-After are admitted at their first retry."""
    stage.show(0.0, "finding the number of layers")
    slow, questions = calibrate(_PER_S, _SETTINGS), stage.questions()
    with stage.system(Shape(num_apis=4, settings=_SETTINGS, worker_command=slow.command)) as system:
        peak_per_s = answers_per_s(stage.load(system, questions, ClosedLoop(BOUND), stage.size(20.0, 2.0)))
        high = stage.load(system, questions, stage.open_loop(_HIGH_LOAD * peak_per_s), stage.size(30.0, 2.0))
        over = stage.load(system, questions, stage.open_loop(_OVERLOAD * peak_per_s), stage.size(60.0, 3.0))
        burst = _burst(stage, system, questions)
    refused, watch = [exchange for exchange in burst if exchange.refusals], stage.watches[-1]
    admitted = round(sum(exchange.is_ok for exchange in refused) / len(refused), 3) if refused else None
    high_ms = latency_ms(high, 99)
    figures = {
        "layers": slow.num_layers, "bound": BOUND, "peak_per_s": round(peak_per_s, 1),
        "accepted_p99_ms_at_0.9_load": high_ms, "refused_at_0.9_load": sum(len(one.refusals) for one in high),
        "refusals_p50_ms": refusals_ms(over, 50), "burst_refused": len(refused),
        "retry_after_s": dict(Counter(str(after_s) for one in refused for _, after_s in one.refusals[:1])),
        "most_reserved_requests": watch.most_requests,
        "lost_by": problems_of([exchange for exchange in over if not exchange.refusals]),
    }  # fmt: skip
    outcome = tally(over, is_honest=lambda exchange: bool(exchange.refusals))  # they do not come back here
    checks = [
        equal("lost", outcome.lost, 0),
        at_least("goodput per s", round(answers_per_s(over), 1), 0.95 * peak_per_s),
        at_most("accepted p99 ms", latency_ms(over, 99), 2 * (high_ms or 0.0)),
        at_most("refusals p99 ms", refusals_ms(over, 99), 25),
        at_most("most reserved requests", watch.most_requests, BOUND),
        at_most("most reserved tokens", watch.most_tokens, _SETTINGS.max_queue_tokens),
        at_least("admitted at first retry", admitted, 0.9),
    ]
    return Findings(outcome, checks, figures)


def _burst(stage: Stage, system: System, questions: list[Question]) -> list[Exchange]:
    """Twice as many as the queue holds, at once, into an empty one."""
    system.wait_until(lambda: system.num_reserved() == 0, 30.0, "an empty queue")
    num_clients = 2 * BOUND
    once = Habits(retries=False, obeys_once=True)
    with Traffic(system.urls, questions, ClosedLoop(num_clients), Limits(total=num_clients), once) as traffic:
        stage.follow(system, traffic, "one burst")
    return traffic.ended


def refusals(stage: Stage) -> Findings:
    """As many clients as the queue holds, for the peak; then 1,200 that come back after Retry-After, whose refusals
    have a p99 of at most 100 ms; then 1,200 that send again at once, beside whom goodput is at least 80 % of the peak.
    Nobody is lost. What the first wave waits for its refusals is a figure apart: 1,200 requests at one moment."""
    questions, num_clients, seconds = stage.questions(), stage.size(1200, 300), stage.size(30.0, 3.0)
    with stage.system(Shape(settings=replace(_SETTINGS, api_processes="1"))) as system:
        calm = stage.calm(system, questions)
        peak = stage.load(system, questions, ClosedLoop(BOUND), seconds, _RUDE)
        polite = stage.load(system, questions, ClosedLoop(num_clients), seconds, _POLITE)
        rude = stage.load(system, questions, ClosedLoop(num_clients), seconds, _RUDE)
    most_reserved, (first, later) = stage.watches[-1].most_requests, _waves(polite, num_clients)
    outcome = tally([*peak, *polite], calm)
    beside = tally(rude, is_honest=lambda exchange: bool(exchange.refusals))  # they do not come back
    peak_per_s, goodput_per_s = answers_per_s(peak), answers_per_s(rude)
    figures: dict[str, Any] = {
        "bound": BOUND, "most_reserved_requests": most_reserved, "peak_per_s": round(peak_per_s, 1),
        "polite_goodput_per_s": round(answers_per_s(polite), 1), "goodput_per_s": round(goodput_per_s, 1),
        "refusals": len(later), "refusals_p50_ms": percentile(later, 50),
        "first_wave_refusals": len(first), "first_wave_p99_ms": percentile(first, 99),
        "rude_refusals": beside.refused, "lost_by": problems_of([*peak, *polite]),
    }  # fmt: skip
    checks = [
        *outcome.checks(),
        equal("lost of those who do not wait", beside.lost, 0),
        at_most("refusals p99 ms", percentile(later, 99), 100),
        at_least("goodput per s", round(goodput_per_s, 1), _GOODPUT * peak_per_s),
        at_most("most reserved requests", most_reserved, BOUND),
    ]
    return Findings(outcome, checks, figures)


def _waves(exchanges: list[Exchange], num_clients: int) -> tuple[list[float], list[float]]:
    """Ms of the refusals of each client's first request, which all come at one moment, and of all attempts after it."""
    first, later = [], []
    for exchange in exchanges:
        took_ms = [1e3 * said_s for said_s, _ in exchange.refusals]
        num_first = 1 if exchange.number < num_clients else 0
        first += took_ms[:num_first]
        later += took_ms[num_first:]
    return first, later
