"""The KV cache takes its memory when the worker starts."""

from __future__ import annotations

import psutil

from worker.model.memory import KVArena

MIB = 1 << 20


def test_a_worker_does_not_grow_when_its_cache_is_full_for_the_first_time() -> None:
    process = psutil.Process()
    arena = KVArena(num_layers=4, num_tokens=16_384, width=128)
    assert arena.layers.nbytes == 64 * MIB

    before = process.memory_info().rss
    arena.layers.fill(1)  # what sequences would write

    assert process.memory_info().rss - before < 4 * MIB
