"""Drills on `miniserve up` under load, short or long: nothing is lost, whatever is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ops.run import processes
from tests.many_sentences import sentences
from tests.running_system import Reply, RunningSystem, post_sentence, wait_until

RQ = Path(sys.executable).with_name("rq")


def answer_as_offline_while_rq_looks_on(num_sentences: int) -> None:
    """All different, of 64 clients."""
    source = sentences(seed=1)
    texts = [next(source) for _ in range(num_sentences)]

    with RunningSystem() as system, ThreadPoolExecutor(64) as pool:
        replies = [pool.submit(post_sentence, system.url, text) for text in texts]
        info = subprocess.run([RQ, "info", "-u", system.redis_url], capture_output=True, text=True, timeout=20).stdout
        num_open = sum(not reply.done() for reply in replies)
        answers = [reply.result() for reply in replies]

    assert num_open > 0, "rq info came too late to have seen the load"
    assert "correct" in info and "1 workers, 1 queues" in info
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body.pop("request_id") for answer in answers}) == len(texts)
    assert [answer.body for answer in answers] == _offline(texts)


def _offline(texts: list[str]) -> list[object]:
    command = processes.miniserve_command("correct", "--json", "-")
    done = subprocess.run(command, input="\n".join(texts), capture_output=True, text=True, timeout=120, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _load_while(system: RunningSystem, disturb: Callable[[], None], num_requests: int) -> list[Reply]:
    source = sentences(seed=2)
    texts = [next(source) for _ in range(num_requests)]
    with ThreadPoolExecutor(32) as pool:
        replies = [pool.submit(post_sentence, system.url, text) for text in texts]
        disturb()
        return [reply.result() for reply in replies]


def kill_workers(num_kills: int, num_requests: int) -> None:
    """SIGKILL; no answer may be missing."""
    with RunningSystem("--workers", "2") as system:

        def disturb() -> None:
            for _ in range(num_kills):
                wait_until(lambda: len(system.pids("worker")) == 2, 10, "two workers")
                os.kill(system.pids("worker")[0], signal.SIGKILL)
                time.sleep(1.0)  # long enough for the load to reach the next one

        replies = _load_while(system, disturb, num_requests)

    assert {reply.status for reply in replies} == {200}
    assert len({reply.body["request_id"] for reply in replies}) == len(replies)


def kill_redis(num_kills: int, num_requests: int) -> None:
    """SIGKILL; no accepted request may be lost."""
    with RunningSystem() as system:

        def disturb() -> None:
            for _ in range(num_kills):
                time.sleep(1.5)  # a second is what the append-only file may lag behind
                wait_until(lambda: len(system.pids("redis")) == 1, 10, "a Redis")
                os.kill(system.pids("redis")[0], signal.SIGKILL)

        replies = _load_while(system, disturb, num_requests)

    assert {reply.status for reply in replies} <= {200, 503}  # 503: refused while Redis was away, never accepted
    assert sum(reply.status == 200 for reply in replies) > 0.9 * len(replies)


def stop_and_continue_a_worker(num_requests: int) -> None:
    """Nobody may be answered twice, or not at all."""
    with RunningSystem("--workers", "2") as system:

        def disturb() -> None:
            worker = system.pids("worker")[0]
            os.kill(worker, signal.SIGSTOP)
            time.sleep(3.0)  # beyond the lease: the other worker takes over
            os.kill(worker, signal.SIGCONT)

        replies = _load_while(system, disturb, num_requests)

    assert {reply.status for reply in replies} == {200}
