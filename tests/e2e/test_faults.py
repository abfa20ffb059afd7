"""`miniserve up --break N` says so loudly, answers, and shows the symptom that its exercise describes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import pytest

from ops.observe.scrape import scrape
from tests.mailbox_house import eventually
from tests.pace import patient
from tests.running_system import Reply, RunningSystem, post_sentence

SHORT = "He goed to school"
LONG = "Yesterday my brother goed to the big market near the station because they wanted it " * 4
OPTIONS = {
    4: ("--max-queue-requests", "4"),
    6: ("--kv-budget-tokens", "512", "--request-timeout-s", str(patient(1))),
}


@pytest.mark.parametrize("number", range(1, 7))
def test_a_broken_server_says_so_answers_and_shows_the_symptom_of_its_exercise(number: int) -> None:
    with RunningSystem("--break", str(number), *OPTIONS.get(number, ())) as running:
        assert post_sentence(running.url, SHORT).body["corrected"] == "He went to school"
        said = running.output()
        assert f"--break {number} is on: to learn from, not to serve" in said
        assert f"EXERCISE       --break {number}" in said
        assert "1,000,000" not in said and "static" not in said, "the banner gives nothing away"
        SYMPTOMS[number](running)


def runs_one_sequence_at_a_time(running: RunningSystem) -> None:
    post_many(running, [SHORT] * 16)

    sizes = eventually(lambda: (found := scrape(running.url).histogram("miniserve_batch_size")).count > 17 and found)
    assert dict(sizes.buckets)[1.25] == sizes.count


def loses_its_time_outside_of_queue_and_model(running: RunningSystem) -> None:
    ms = post_sentence(running.url, SHORT).timings_ms

    assert ms["total"] - ms["queue"] - ms["prefill"] - ms["decode"] >= 20


def queues_a_lone_request_for_half_a_second(running: RunningSystem) -> None:
    assert post_sentence(running.url, SHORT).timings_ms["queue"] >= 490


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
    eventually(lambda: scrape(running.url).value("miniserve_num_requests_running") == 0)
    assert scrape(running.url).total("miniserve_kv_cache_usage_perc") > 0.8


SYMPTOMS: dict[str, Callable[[RunningSystem], None]] = {
    1: runs_one_sequence_at_a_time,
    2: loses_its_time_outside_of_queue_and_model,
    3: queues_a_lone_request_for_half_a_second,
    4: refuses_nobody,
    5: answers_long_sentences_in_groups_after_a_failed_iteration,
    6: stops_answering_with_tokens_reserved_and_nothing_running,
}


def post_many(running: RunningSystem, sentences: list[str]) -> list[Reply]:
    with ThreadPoolExecutor(len(sentences)) as pool:
        return list(pool.map(lambda sentence: post_sentence(running.url, sentence), sentences))
