"""Prefill and decode workers as `miniserve up` starts them: the same answers, also while they are killed."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator

import pytest
from redis import Redis

from ops.load import prompts
from ops.load.arrivals import ClosedLoop, Limits
from ops.load.client import Client
from ops.load.command import expected_answers
from ops.load.generator import Expected, Generator
from ops.load.measurements import Measurements
from scheduler.settings import Settings
from tests.running_system import RunningSystem, command_line, post_sentence, send, wait_until

NUM_SENTENCES = 400
NUM_KILLS = 5
ROLES = ("prefill", "decode")
TEXT = "He goed to school. She have a car, but they was late."


@pytest.fixture(scope="module")
def pools() -> Iterator[RunningSystem]:
    with RunningSystem("--prefill-workers", "1", "--decode-workers", "1") as running:
        yield running


@pytest.fixture(scope="module")
def expected() -> Expected:
    """What the model alone makes of each."""
    return expected_answers(Settings(), prompts.load(None, seed=0)[:NUM_SENTENCES])


def pid_of(running: RunningSystem, role: str) -> int:
    found: list[int] = []

    def is_there() -> bool:
        found[:] = [pid for pid in running.pids("worker") if f"--role {role}" in command_line(pid)]
        return bool(found)

    wait_until(is_there, 10, f"a {role} worker runs")
    return found[0]


def test_sentences_get_the_answers_of_the_model_alone(pools: RunningSystem, expected: Expected) -> None:
    limits = Limits(total=NUM_SENTENCES)

    measured = Generator(Client(pools.url), list(expected), ClosedLoop(16), limits, expected).run()

    assert (measured.statuses, measured.unexpected) == ({200: NUM_SENTENCES}, 0)


def test_a_text_and_a_stream_are_answered_as_ever(pools: RunningSystem, system: RunningSystem) -> None:
    replies = [post_sentence(running.url, TEXT).body | {"request_id": ""} for running in (pools, system)]
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    stream = send(pools.url, "POST", "/correct", json.dumps({"sentence": TEXT}).encode(), headers).body
    last = json.loads(stream.strip().split("\n\n")[-1].split("data: ", 1)[1])

    assert replies[0] == replies[1] == last | {"request_id": ""}
    assert stream.count("event: edit") == len(last["edits"])


@pytest.mark.parametrize("role", ROLES)
def test_a_killed_worker_of_either_pool_costs_no_answer(pools: RunningSystem, expected: Expected, role: str) -> None:
    kills: list[int] = []

    def kill_now_and_then(measured: Measurements) -> None:
        if len(kills) < NUM_KILLS and measured.num_over > (len(kills) + 1) * NUM_SENTENCES // (NUM_KILLS + 1):
            kills.append(pid_of(pools, role))
            os.kill(kills[-1], signal.SIGKILL)

    limits = Limits(total=NUM_SENTENCES)
    generator = Generator(Client(pools.url), list(expected), ClosedLoop(16), limits, expected)
    measured = generator.run(kill_now_and_then)

    assert len(set(kills)) == NUM_KILLS
    assert (measured.statuses, measured.unexpected, measured.failures) == ({200: NUM_SENTENCES}, 0, {})
    with Redis.from_url(pools.redis_url) as client:
        wait_until(lambda: client.hlen("miniserve:reservations") == 0, 5, "nothing is left")
        assert client.zcard("rq:wip:correct") == client.llen("rq:queue:correct") == 0
        assert int(client.hget("miniserve:counts", "failed") or 0) == 0


@pytest.mark.parametrize("options", [("--prefill-workers", "1"), ("--decode-workers", "2")])
def test_one_pool_alone_is_refused(options: tuple[str, ...]) -> None:
    with pytest.raises(AssertionError, match="need each other"), RunningSystem(*options):
        pass
