"""A worker dies while clients wait: every one of them still gets its answer."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor

from tests.many_sentences import sentences
from tests.running_system import RunningSystem, post_sentence, wait_until


def test_kill_9_of_the_worker_in_the_middle_of_the_load_loses_no_answer() -> None:
    source = sentences(seed=3)
    texts = [next(source) for _ in range(600)]

    with RunningSystem() as system, ThreadPoolExecutor(32) as pool:
        (worker,) = system.pids("worker")
        replies = [pool.submit(post_sentence, system.url, text) for text in texts]
        wait_until(lambda: sum(reply.done() for reply in replies) > 150, 30, "150 answers")
        os.kill(worker, signal.SIGKILL)
        num_open = sum(not reply.done() for reply in replies)
        statuses = [reply.result().status for reply in replies]
        assert system.pids("worker") != [worker]

    assert num_open > 0, "the load was over before the worker died"
    assert statuses == [200] * len(texts)
