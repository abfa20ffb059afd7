"""Prefill and decode workers as `miniserve up` starts them: the same answers, also while they are killed."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator

import pytest
from redis import Redis

from ops.load.arrivals import ClosedLoop, Limits
from ops.load.traffic import ONCE, Traffic
from tests.running_system import RunningSystem, command_line, post_sentence, send, wait_until

NUM_KILLS = 5
ROLES = ("prefill", "decode")
TEXT = "He goed to school. She have a car, but they was late."


@pytest.fixture(scope="module")
def pools() -> Iterator[RunningSystem]:
    with RunningSystem("--prefill-workers", "1", "--decode-workers", "1") as running:
        yield running


def pid_of(running: RunningSystem, role: str) -> int:
    found: list[int] = []

    def is_there() -> bool:
        found[:] = [pid for pid in running.pids("worker") if f"--role {role}" in command_line(pid)]
        return bool(found)

    wait_until(is_there, 10, f"a {role} worker runs")
    return found[0]


def test_a_text_and_a_stream_are_answered_as_ever(pools: RunningSystem, system: RunningSystem) -> None:
    replies = [post_sentence(running.url, TEXT).body | {"request_id": ""} for running in (pools, system)]
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    stream = send(pools.url, "POST", "/correct", json.dumps({"sentence": TEXT}).encode(), headers).body
    last = json.loads(stream.strip().split("\n\n")[-1].split("data: ", 1)[1])

    assert replies[0] == replies[1] == last | {"request_id": ""}
    assert stream.count("event: edit") == len(last["edits"])


@pytest.mark.parametrize("role", ROLES)
def test_a_killed_worker_of_either_pool_costs_no_answer(
    pools: RunningSystem, alone: dict[str, object], role: str
) -> None:
    questions, limits, kills = [{"sentence": text} for text in alone], Limits(total=len(alone)), []

    with Traffic([pools.url], questions, ClosedLoop(16), limits, ONCE) as traffic:
        for number in range(1, NUM_KILLS + 1):
            due = number * len(alone) // (NUM_KILLS + 1)
            wait_until(lambda due=due: len(traffic.ended) > due, 30, "some answers")
            kills.append(pid_of(pools, role))
            os.kill(kills[-1], signal.SIGKILL)

    assert len(set(kills)) == NUM_KILLS
    assert {one.question["sentence"]: one.answer for one in traffic.ended} == alone
    with Redis.from_url(pools.redis_url) as client:
        wait_until(lambda: client.hlen("miniserve:reservations") == 0, 5, "nothing is left")
        assert client.zcard("rq:wip:correct") == client.llen("rq:queue:correct") == 0
        assert int(client.hget("miniserve:counts", "failed") or 0) == 0


@pytest.mark.parametrize("options", [("--prefill-workers", "1"), ("--decode-workers", "2")])
def test_one_pool_alone_is_refused(options: tuple[str, ...]) -> None:
    with pytest.raises(AssertionError, match="are given together"), RunningSystem(*options):
        pass
