"""`miniserve up --break NAME` says so loudly, answers, and shows the symptom that its exercise describes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import pytest
from click.testing import CliRunner

from ops.cli import main
from scheduler.settings import FAULT_NAMES
from tests.exposed_metrics import families_of
from tests.pace import patient
from tests.running_system import Reply, RunningSystem, post_sentence, send, wait_until

SHORT = "He goed to school"
LONG = "Yesterday my brother goed to the big market near the station because they wanted it " * 4
OPTIONS = {
    "unbounded-queue": ("--max-queue-requests", "4"),
    "leaked-slot": ("--kv-budget-tokens", "512", "--request-timeout-s", str(patient(1))),
}


@pytest.fixture(params=FAULT_NAMES)
def broken(request: pytest.FixtureRequest) -> Iterator[tuple[str, RunningSystem]]:
    with RunningSystem("--break", request.param, *OPTIONS.get(request.param, ())) as running:
        yield request.param, running


def test_a_broken_server_says_so_answers_and_shows_the_symptom_of_its_exercise(
    broken: tuple[str, RunningSystem],
) -> None:
    name, running = broken

    assert post_sentence(running.url, SHORT).body["corrected"] == "He went to school"
    said = running.output()
    assert f"BROKEN ON PURPOSE (--break {name})" in said
    assert f"BROKEN         --break {name}" in said
    SYMPTOMS[name](running)


def runs_one_sequence_at_a_time(running: RunningSystem) -> None:
    post_many(running, [SHORT] * 16)

    iterations, alone = ("miniserve_batch_size_count", ""), ("miniserve_batch_size_bucket", "1.25")
    wait_until(lambda: metrics_of(running)[iterations] > 17, 5, "a report of the worker's iterations")
    values = metrics_of(running)
    assert values[alone] == values[iterations]


def loses_its_time_outside_of_queue_and_model(running: RunningSystem) -> None:
    ms = server_timing_ms(post_sentence(running.url, SHORT))

    assert ms["total"] - ms["queue"] - ms["prefill"] - ms["decode"] >= 20


def queues_a_lone_request_for_half_a_second(running: RunningSystem) -> None:
    assert server_timing_ms(post_sentence(running.url, SHORT))["queue"] >= 490


def refuses_nobody(running: RunningSystem) -> None:
    replies = post_many(running, [SHORT] * 64)

    assert {reply.status for reply in replies} == {200}


def answers_long_sentences_in_groups_after_a_failed_iteration(running: RunningSystem) -> None:
    replies = post_many(running, [LONG] * 100)

    assert {reply.status for reply in replies} == {200}
    assert "iteration failed; what was held is tried again" in running.output()
    assert "resynced: 0 requests" not in running.output()  # nothing was lost: no warning


def stops_answering_with_tokens_reserved_and_nothing_running(running: RunningSystem) -> None:
    rounds = iter(lambda: {reply.status for reply in post_many(running, [SHORT] * 8)}, {504})
    num_answered = sum(1 for _ in islice(rounds, 50))

    assert 0 < num_answered < 50
    wait_until(lambda: metrics_of(running)["miniserve_num_requests_running", ""] == 0, 5, "nothing runs")
    assert metrics_of(running)["miniserve_kv_cache_usage_perc", ""] > 0.8


SYMPTOMS: dict[str, Callable[[RunningSystem], None]] = {
    "bypassed-scheduler": runs_one_sequence_at_a_time,
    "blocking-call": loses_its_time_outside_of_queue_and_model,
    "long-wait": queues_a_lone_request_for_half_a_second,
    "unbounded-queue": refuses_nobody,
    "head-count": answers_long_sentences_in_groups_after_a_failed_iteration,
    "leaked-slot": stops_answering_with_tokens_reserved_and_nothing_running,
}


def post_many(running: RunningSystem, sentences: list[str]) -> list[Reply]:
    with ThreadPoolExecutor(len(sentences)) as pool:
        return list(pool.map(lambda sentence: post_sentence(running.url, sentence), sentences))


def metrics_of(running: RunningSystem) -> dict[tuple[str, str], float]:
    """By name and bucket; the sum of those with other labels."""
    values: Counter[tuple[str, str]] = Counter()
    for family in families_of(send(running.url, "GET", "/metrics").body.encode()).values():
        for each in family.samples:
            values[each.name, each.labels.get("le", "")] += each.value
    return values


def server_timing_ms(reply: Reply) -> dict[str, float]:
    return {name: float(ms) for name, ms in re.findall(r"(\w+);dur=([\d.]+)", reply.headers["Server-Timing"])}


def test_a_server_that_is_not_broken_says_nothing_of_it(system: RunningSystem) -> None:
    assert "BROKEN" not in system.output()


def test_a_fault_of_the_queue_is_refused_in_a_mode_without_one() -> None:
    refused = CliRunner().invoke(main, ["up", "--mode", "sync", "--break", "leaked-slot"])

    assert refused.exit_code == 2
    assert "--break leaked-slot is for --mode continuous or static" in refused.output
