"""The drill that opens far more connections than the queue holds requests.

Here the replica is the bottleneck, and not the engine: what it spends on refusals it cannot spend on answers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ops.drills.drill import (
    ONCE,
    Findings,
    Stage,
    answers_per_s,
    at_least,
    at_most,
    count,
    equal,
    percentile,
    problems_of,
    tally,
)
from ops.drills.system import DRILL_SETTINGS, Shape
from ops.drills.traffic import Exchange, Habits, Traffic
from ops.load.arrivals import ClosedLoop

BOUND = 128
_ADDRESSES = tuple(f"127.0.0.{number}" for number in range(2, 14))  # a single one may hold half of the queue only
_SETTINGS = replace(DRILL_SETTINGS, max_queue_requests=BOUND, api_processes="1")
_GOODPUT = 0.8  # of the peak
_POLITE = Habits(addresses=_ADDRESSES)
_RUDE = replace(ONCE, addresses=_ADDRESSES)  # a refused client has another request at once


def refusals(stage: Stage) -> Findings:
    """As many clients as the queue holds, for the peak; then 1,200 that come back after Retry-After, whose refusals
    have a p99 of at most 100 ms; then 1,200 that send again at once, beside whom goodput is at least 80 % of the peak.
    Nobody is lost. What the first wave waits for its refusals is a figure apart: 1,200 requests at one moment."""
    questions, num_clients, seconds = stage.questions(), stage.size(1200, 300), stage.size(30.0, 3.0)
    with stage.system(Shape(settings=_SETTINGS)) as system:
        calm = stage.calm(system, questions)
        peak = stage.load(system, questions, ClosedLoop(BOUND), seconds, _RUDE)
        polite = stage.load(system, questions, ClosedLoop(num_clients), seconds, _POLITE)
        rude = stage.load(system, questions, ClosedLoop(num_clients), seconds, _RUDE)
        figures = {"bound": BOUND, "most_reserved_requests": stage.watches[-1].most_requests}
    outcome = tally([*peak.ended, *polite.ended], calm)
    beside = count(rude.ended, lambda exchange: bool(exchange.refusals))  # they do not come back
    figures |= _figures(peak, polite, rude, num_clients) | {"lost": problems_of([*peak.ended, *polite.ended])}
    checks = [
        *outcome.checks(),
        equal("lost of those who do not wait", beside.lost, 0),
        at_most("refusals p99 ms", figures["refusals_p99_ms"], 100),
        at_least("goodput per s", figures["goodput_per_s"], _GOODPUT * figures["peak_per_s"]),
        at_most("most reserved requests", figures["most_reserved_requests"], BOUND),
    ]
    return Findings(outcome, checks, figures)


def _figures(peak: Traffic, polite: Traffic, rude: Traffic, num_clients: int) -> dict[str, Any]:
    first, later = _refusals_ms(polite.ended, num_clients)
    return {
        "peak_per_s": round(answers_per_s(peak.ended), 1),
        "polite_goodput_per_s": round(answers_per_s(polite.ended), 1),
        "goodput_per_s": round(answers_per_s(rude.ended), 1),
        "refusals": len(later),
        "refusals_p50_ms": percentile(later, 50),
        "refusals_p99_ms": percentile(later, 99),
        "first_wave_refusals": len(first),
        "first_wave_p99_ms": percentile(first, 99),
        "rude_refusals": sum(len(exchange.refusals) for exchange in rude.ended),
    }


def _refusals_ms(exchanges: list[Exchange], num_clients: int) -> tuple[list[float], list[float]]:
    """Of the first request of each client, which all come at one moment, and of all attempts after it."""
    first, later = [], []
    for exchange in exchanges:
        took_ms = [1e3 * said_s for said_s, _ in exchange.refusals]
        num_first = 1 if exchange.number < num_clients else 0
        first += took_ms[:num_first]
        later += took_ms[num_first:]
    return first, later
