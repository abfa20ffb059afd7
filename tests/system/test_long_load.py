"""Long drills under load: nothing is lost, whatever is killed."""

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

from ops import processes
from tests.many_sentences import sentences
from tests.running_system import Reply, RunningSystem, post_sentence, wait_until

RQ = Path(sys.executable).with_name("rq")


def test_2000_different_sentences_of_64_clients_equal_the_offline_answers_while_rq_looks_on() -> None:
    source = sentences(seed=1)
    texts = [next(source) for _ in range(2000)]

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


def test_a_worker_killed_five_times_under_load_costs_no_answer() -> None:
    with RunningSystem("--workers", "2") as system:

        def disturb() -> None:
            for _ in range(5):
                wait_until(lambda: len(system.pids("worker")) == 2, 10, "two workers")
                os.kill(system.pids("worker")[0], signal.SIGKILL)
                time.sleep(1.0)  # long enough for the load to reach the next one

        replies = _load_while(system, disturb, 4000)

    assert {reply.status for reply in replies} == {200}
    assert len({reply.body["request_id"] for reply in replies}) == len(replies)


def test_a_redis_killed_under_load_costs_no_accepted_request() -> None:
    with RunningSystem() as system:

        def disturb() -> None:
            for _ in range(3):
                time.sleep(1.5)  # a second is what the append-only file may lag behind
                wait_until(lambda: len(system.pids("redis-server")) == 1, 10, "a Redis")
                os.kill(system.pids("redis-server")[0], signal.SIGKILL)

        replies = _load_while(system, disturb, 4000)

    assert {reply.status for reply in replies} <= {200, 503}  # 503: refused while Redis was away, never accepted
    assert sum(reply.status == 200 for reply in replies) > 0.9 * len(replies)


def test_a_worker_stopped_and_continued_answers_nobody_twice() -> None:
    with RunningSystem("--workers", "2") as system:

        def disturb() -> None:
            worker = system.pids("worker")[0]
            os.kill(worker, signal.SIGSTOP)
            time.sleep(3.0)  # beyond the lease: the other worker takes over
            os.kill(worker, signal.SIGCONT)

        replies = _load_while(system, disturb, 3000)

    assert {reply.status for reply in replies} == {200}
