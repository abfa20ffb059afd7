"""Requests of several clients share the worker's batch. Goes red when a handler bypasses the scheduler."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ops.bench.system import serving
from tests.many_sentences import sentences
from tests.running_system import post_sentence


def test_under_eight_clients_the_mean_decode_batch_is_larger_than_one() -> None:
    source = sentences(seed=5)
    texts = [next(source) for _ in range(400)]
    with serving(()) as system, ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda text: post_sentence(system.url, text), texts))

    assert {reply.status for reply in replies} == {200}
    assert system.counters["prompt_tokens"] >= 400
    assert system.counters["mean_decode_batch"] > 1.0
