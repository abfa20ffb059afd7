"""What GET /metrics tells of a known load, against what its answers told the clients."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from api.grammar.sentences import find_sentences
from ops.drills.system import Shape, running
from ops.load import prompts
from ops.load.arrivals import ClosedLoop, Limits
from ops.load.client import Client
from ops.load.generator import Generator
from ops.load.measurements import Measurements
from ops.load.server_timing import breakdown
from ops.observe.scrape import Histogram, Scrape, scrape
from tests.running_system import wait_until

NUM_ANSWERS = 300
NUM_CLIENTS = 32
SCRAPE_EVERY_S = 0.2
SHAPE = Shape(num_apis=2, slowed_to_per_s=60.0)
PLACES = ("request_success_total", "request_failure_total", "num_requests_waiting", "num_requests_running")


@dataclass(slots=True)
class Outcome:
    """Of one load on a fresh system, from the first request on."""

    clients: Measurements = field(default_factory=Measurements)
    looks: list[Scrape] = field(default_factory=list)  # at each replica in turn; the last when all is reported

    def total(self, name: str) -> float:
        return self.looks[-1].total(f"miniserve_{name}")

    def histogram(self, name: str) -> Histogram:
        return self.looks[-1].histogram(f"miniserve_{name}_seconds")


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    found, is_over = Outcome(), threading.Event()
    sentences = [text for text in prompts.load(None, 0) if len([*find_sentences(text)]) == 1]
    with running(SHAPE) as system:

        def look() -> None:
            while not is_over.wait(SCRAPE_EVERY_S):
                found.looks.append(scrape(system.urls[len(found.looks) % 2]))

        def is_reported() -> bool:
            found.looks.append(scrape(system.urls[1]))
            return all(
                found.histogram(name).count == NUM_ANSWERS for name in ("e2e_request_latency", "request_decode_time")
            )

        watch = threading.Thread(target=look)
        watch.start()
        load = Generator(Client(system.urls[0]), sentences, ClosedLoop(NUM_CLIENTS), Limits(total=NUM_ANSWERS))
        try:
            found.clients = load.run()
        finally:
            is_over.set()
            watch.join()
        wait_until(is_reported, 10, "every answer in every histogram")
    yield found


def test_every_answer_is_counted_once_and_the_counts_balance_at_every_scrape_of_either_replica(
    outcome: Outcome,
) -> None:
    assert outcome.clients.statuses == {200: NUM_ANSWERS} and not outcome.clients.failures
    assert outcome.total("requests_accepted_total") == outcome.total("request_success_total") == NUM_ANSWERS
    for name in ("e2e_request_latency", "time_to_first_token", "request_queue_time", "request_decode_time"):
        assert outcome.histogram(name).count == NUM_ANSWERS
    accepted = [look.total("miniserve_requests_accepted_total") for look in outcome.looks]
    assert accepted == [sum(look.total(f"miniserve_{name}") for name in PLACES) for look in outcome.looks]
    assert len(accepted) >= 10


def test_times_are_those_that_the_answers_told(outcome: Outcome) -> None:
    timings = outcome.clients.server_timings
    told = breakdown(timings, outcome.clients.latencies_s)["all"]

    for part in ("queue", "prefill", "decode"):
        mean_s = outcome.histogram(f"request_{part}_time").mean
        assert 1e3 * mean_s == pytest.approx(told[part], rel=0.01, abs=0.06), part
    totals_s = [float(re.search(rb"total;dur=([0-9.]+)", timing)[1]) / 1e3 for timing in timings]
    for bound_s, count in outcome.histogram("e2e_request_latency").buckets:
        assert abs(count - sum(total_s <= bound_s for total_s in totals_s)) <= 1  # what they told is rounded
    assert 0.7 * told["latency"] < told["total"] < told["latency"]  # as their own clocks saw it


def test_tokens_and_iterations_agree_with_each_other(outcome: Outcome) -> None:
    decode_steps = outcome.histogram("inter_token_latency").count
    tokens = outcome.looks[-1].histogram("miniserve_iteration_tokens")

    assert outcome.total("generation_tokens_total") == decode_steps + NUM_ANSWERS
    assert tokens.sum == outcome.total("prompt_tokens_total") + decode_steps
    assert tokens.count == outcome.total("iterations_total")
    parts_s = [outcome.histogram(f"request_{part}_time").mean for part in ("queue", "prefill")]
    assert outcome.histogram("time_to_first_token").mean == pytest.approx(sum(parts_s))
