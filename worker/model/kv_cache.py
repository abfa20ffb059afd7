"""The KV cache: one preallocated arena, counted in tokens.

A running sequence owns as many token rows as it reserved, wherever they lie: nothing is lost to rounding, nothing
fragments, and the scheduler's budget in tokens is exactly what fits. Reading is one `np.take` of whole rows (keys and
values of one token in one layer are adjacent), which copies at memory speed.
"""

from __future__ import annotations

import numpy as np

from worker.model.memory import allocate


class KVArena:
    """Keys and values of all layers, and which rows are free. Rows are given out last freed, first used."""

    def __init__(self, num_layers: int, num_tokens: int, width: int) -> None:
        self.layers = allocate(num_layers, num_tokens, 2 * width)  # (L, N, 2C)
        self.layers.fill(0)  # takes all of its memory now: a first burst, whenever it comes, makes no worker grow
        self._free = np.empty(num_tokens, dtype=np.intp)  # a stack; its top is at num_free
        self.free_all()

    def allocate(self, num_tokens: int) -> np.ndarray:
        """Row numbers, one per token. The scheduler's budget makes sure there are enough."""
        assert num_tokens <= self.num_free, "the scheduler admitted more than the arena holds"
        self.num_free -= num_tokens
        return self._free[self.num_free : self.num_free + num_tokens].copy()

    def free_all(self) -> None:
        """Free every row."""
        self.num_free = len(self._free)
        self._free[:] = np.arange(self.num_free - 1, -1, -1)

    def free(self, rows: np.ndarray) -> None:
        """Give rows back; their contents are overwritten by the next owner."""
        self._free[self.num_free : self.num_free + len(rows)] = rows
        self.num_free += len(rows)
