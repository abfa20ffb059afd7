"""What GET /metrics tells of a known load, against what its answers told the clients."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from statistics import fmean

import pytest

from api.grammar.sentences import find_sentences
from ops.drills.system import Shape, running
from ops.load import prompts
from ops.observe.scrape import Histogram, Scrape, scrape
from tests.mailbox_house import eventually
from tests.running_system import Reply, post_sentence

NUM_ANSWERS = 300
NUM_CLIENTS = 32
SHAPE = Shape(num_apis=2, slowed_to_per_s=60.0)
PLACES = ("request_success_total", "request_failure_total", "num_requests_waiting", "num_requests_running")
ACCOUNTS = (*PLACES, "requests_accepted_total", "prompt_tokens_total", "generation_tokens_total", "iterations_total")
Seen = tuple[list[tuple[Reply, float]], list[Scrape]]


def seconds(look: Scrape, name: str) -> Histogram:
    return look.histogram(f"miniserve_{name}_seconds")


def is_whole(look: Scrape) -> bool:
    names = ("e2e_request_latency", "request_decode_time", "time_to_first_token", "request_queue_time")
    return {seconds(look, name).count for name in names} == {NUM_ANSWERS}


@pytest.fixture(scope="module")
def seen() -> Seen:
    """The answers of one load on a fresh system, each with its seconds; looks at each replica in turn, the last when
    all is reported."""
    sentences = [text for text in prompts.load(None, 0) if len([*find_sentences(text)]) == 1][:NUM_ANSWERS]
    looks: list[Scrape] = []
    with running(SHAPE) as system, ThreadPoolExecutor(NUM_CLIENTS) as clients:

        def look() -> Scrape:
            looks.append(scrape(system.urls[len(looks) % 2]))
            return looks[-1]

        def ask(sentence: str) -> tuple[Reply, float]:
            begun_s = time.monotonic()
            return post_sentence(system.urls[0], sentence), time.monotonic() - begun_s

        asked = [clients.submit(ask, sentence) for sentence in sentences]
        eventually(lambda: look() and all(one.done() for one in asked), 60, every_s=0.2)
        eventually(lambda: is_whole(look()), 10)
        return [one.result() for one in asked], looks


def test_every_answer_is_counted_once_and_counts_balance_at_every_look(seen: Seen) -> None:
    answers, looks = seen
    *_, last = totals = [{name: look.total(f"miniserve_{name}") for name in ACCOUNTS} for look in looks]
    tokens = looks[-1].histogram("miniserve_iteration_tokens")
    decode_steps = seconds(looks[-1], "inter_token_latency").count

    assert [reply.status for reply, _ in answers] == [200] * NUM_ANSWERS
    assert last["requests_accepted_total"] == last["request_success_total"] == NUM_ANSWERS
    assert [one["requests_accepted_total"] for one in totals] == [sum(one[place] for place in PLACES) for one in totals]
    assert len(totals) >= 10
    assert last["generation_tokens_total"] == decode_steps + NUM_ANSWERS
    assert (tokens.sum, tokens.count) == (last["prompt_tokens_total"] + decode_steps, last["iterations_total"])


def test_times_are_those_that_the_answers_told(seen: Seen) -> None:
    answers, (*_, last) = seen
    told = [reply.timings_ms for reply, _ in answers]

    for part in ("queue", "prefill", "decode"):
        mean_ms = 1e3 * seconds(last, f"request_{part}_time").mean
        assert mean_ms == pytest.approx(fmean(one[part] for one in told), rel=0.01, abs=0.06), part
    for bound_s, count in seconds(last, "e2e_request_latency").buckets:
        assert abs(count - sum(one["total"] <= 1e3 * bound_s for one in told)) <= 1  # what they told is rounded
    latency_ms = 1e3 * fmean(took_s for _, took_s in answers)
    assert 0.7 * latency_ms < fmean(one["total"] for one in told) < latency_ms  # as their own clocks saw it
    parts_s = [seconds(last, f"request_{part}_time").mean for part in ("queue", "prefill")]
    assert seconds(last, "time_to_first_token").mean == pytest.approx(sum(parts_s))
