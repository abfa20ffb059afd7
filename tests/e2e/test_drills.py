"""Something dies or hangs while clients wait: every one of them still gets its answer."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.many_sentences import sentences
from tests.running_system import RunningSystem, post_sentence, wait_until


@pytest.fixture(scope="module")
def system() -> Iterator[RunningSystem]:
    with RunningSystem() as running:
        yield running


@pytest.fixture(autouse=True)
def _leaves_the_system_as_it_was() -> None:
    """These tests do not."""


def test_kill_9_of_the_worker_in_the_middle_of_the_load_loses_no_answer(system: RunningSystem) -> None:
    source = sentences(seed=3)
    texts = [next(source) for _ in range(600)]
    (worker,) = system.pids("worker")

    with ThreadPoolExecutor(32) as pool:
        replies = [pool.submit(post_sentence, system.url, text) for text in texts]
        wait_until(lambda: sum(reply.done() for reply in replies) > 150, 30, "150 answers")
        os.kill(worker, signal.SIGKILL)
        num_open = sum(not reply.done() for reply in replies)
        statuses = [reply.result().status for reply in replies]

    assert num_open > 0, "the load was over before the worker died"
    assert statuses == [200] * len(texts)
    assert system.pids("worker") != [worker]


def test_a_stopped_worker_makes_requests_wait_and_readiness_fail_until_it_goes_on(system: RunningSystem) -> None:
    system.wait_until_ready()
    (worker,) = system.pids("worker")

    with ThreadPoolExecutor(8) as pool:
        os.kill(worker, signal.SIGSTOP)
        try:
            replies = [pool.submit(post_sentence, system.url, "He goed to school") for _ in range(8)]
            wait_until(lambda: system.readiness() == 503, 8, "/readyz says 503")
            num_answered_while_stopped = sum(reply.done() for reply in replies)
        finally:
            os.kill(worker, signal.SIGCONT)
        answers = [reply.result() for reply in replies]

    assert num_answered_while_stopped == 0
    assert {(answer.status, answer.body["corrected"]) for answer in answers} == {(200, "He went to school")}
    system.wait_until_ready(5)
    assert system.pids("worker") == [worker]
