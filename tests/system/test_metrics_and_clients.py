"""What GET /metrics tells of a known load, against what its answers told the clients."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from statistics import fmean

import pytest

from api.grammar.sentences import find_sentences
from ops.drills.system import Shape, running
from ops.load import prompts
from ops.observe.scrape import Histogram, Scrape, scrape
from tests.running_system import Reply, post_sentence, wait_until

NUM_ANSWERS = 300
NUM_CLIENTS = 32
SCRAPE_EVERY_S = 0.2
SHAPE = Shape(num_apis=2, slowed_to_per_s=60.0)
PLACES = ("request_success_total", "request_failure_total", "num_requests_waiting", "num_requests_running")


@dataclass(slots=True)
class Outcome:
    """Of one load on a fresh system, from the first request on."""

    answers: list[tuple[Reply, float]] = field(default_factory=list)  # and the seconds that each took
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

        def ask(sentence: str) -> tuple[Reply, float]:
            begun_s = time.monotonic()
            return post_sentence(system.urls[0], sentence), time.monotonic() - begun_s

        watch = threading.Thread(target=look)
        watch.start()
        try:
            with ThreadPoolExecutor(NUM_CLIENTS) as clients:
                found.answers = list(clients.map(ask, sentences[:NUM_ANSWERS]))
        finally:
            is_over.set()
            watch.join()
        wait_until(is_reported, 10, "every answer in every histogram")
    yield found


def test_every_answer_is_counted_once_and_the_counts_balance_at_every_scrape_of_either_replica(
    outcome: Outcome,
) -> None:
    assert [reply.status for reply, _ in outcome.answers] == [200] * NUM_ANSWERS
    assert outcome.total("requests_accepted_total") == outcome.total("request_success_total") == NUM_ANSWERS
    for name in ("e2e_request_latency", "time_to_first_token", "request_queue_time", "request_decode_time"):
        assert outcome.histogram(name).count == NUM_ANSWERS
    accepted = [look.total("miniserve_requests_accepted_total") for look in outcome.looks]
    assert accepted == [sum(look.total(f"miniserve_{name}") for name in PLACES) for look in outcome.looks]
    assert len(accepted) >= 10


def test_times_are_those_that_the_answers_told(outcome: Outcome) -> None:
    headers = [reply.headers["Server-Timing"] for reply, _ in outcome.answers]
    told = [{part: float(ms) for part, ms in re.findall(r"(\w+);dur=([0-9.]+)", header)} for header in headers]

    for part in ("queue", "prefill", "decode"):
        mean_s = outcome.histogram(f"request_{part}_time").mean
        assert 1e3 * mean_s == pytest.approx(fmean(one[part] for one in told), rel=0.01, abs=0.06), part
    for bound_s, count in outcome.histogram("e2e_request_latency").buckets:
        assert abs(count - sum(one["total"] <= 1e3 * bound_s for one in told)) <= 1  # what they told is rounded
    latency_ms = 1e3 * fmean(seconds for _, seconds in outcome.answers)
    assert 0.7 * latency_ms < fmean(one["total"] for one in told) < latency_ms  # as their own clocks saw it


def test_tokens_and_iterations_agree_with_each_other(outcome: Outcome) -> None:
    decode_steps = outcome.histogram("inter_token_latency").count
    tokens = outcome.looks[-1].histogram("miniserve_iteration_tokens")

    assert outcome.total("generation_tokens_total") == decode_steps + NUM_ANSWERS
    assert tokens.sum == outcome.total("prompt_tokens_total") + decode_steps
    assert tokens.count == outcome.total("iterations_total")
    parts_s = [outcome.histogram(f"request_{part}_time").mean for part in ("queue", "prefill")]
    assert outcome.histogram("time_to_first_token").mean == pytest.approx(sum(parts_s))
