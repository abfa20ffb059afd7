"""Requests of several clients share the worker's batch. Goes red when a handler bypasses the scheduler."""

from __future__ import annotations

import re
import signal
from concurrent.futures import ThreadPoolExecutor

from tests.many_sentences import sentences
from tests.running_system import RunningSystem, post_sentence


def test_under_eight_clients_the_mean_decode_batch_is_larger_than_one() -> None:
    source = sentences(seed=5)
    texts = [next(source) for _ in range(400)]
    with RunningSystem("--verbose") as system:
        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda text: post_sentence(system.url, text), texts))
        system.signal(signal.SIGINT)
        system.process.wait(20)
        counted = {name: float(value) for name, value in re.findall(r"(\w+)=([\d.]+)\b", _last_words(system))}

    assert {reply.status for reply in replies} == {200}
    assert counted["prompt_tokens"] >= 400
    assert counted["mean_decode_batch"] > 1.0


def _last_words(system: RunningSystem) -> str:
    """The worker says its counters when it stops."""
    return next(line for line in system.output().splitlines() if "worker stopped" in line)
