"""The memory of the model: large arrays of float32, the KV cache, and the rows of a forward pass.

What a pass needs is kept for the next, with views of it for every number of rows that occurred. Three arrays hold one
thing after the other, so that what a layer works on is still in the processor's cache when it is needed again; making
the views again would cost a lone request more than a layer.
"""

from __future__ import annotations

import math

import numpy as np

_ALIGNMENT = 2 << 20  # bytes: a huge page
BLOCK_COLUMNS = 64  # of a weight matrix; why it is cut: see worker/model/weights.py
MIN_ROWS = 2  # BLAS has another kernel for a lone row, whose last bits differ


def allocate(*shape: int) -> np.ndarray:
    """Return an array as np.empty does, aligned to huge pages, which NumPy asks the kernel for from 4 MiB on.

    np.zeros would get small pages: to look up the addresses of weights and KV cache then takes 6 % of an iteration.
    """
    size = math.prod(shape)
    memory = np.empty(size + _ALIGNMENT // 4, dtype=np.float32)
    start = -memory.ctypes.data % _ALIGNMENT // 4
    return memory[start : start + size].reshape(shape)


class KVArena:
    """The KV cache: keys and values of all layers, counted in tokens. Rows are given out last freed, first used.

    A running sequence owns as many rows as it reserved, wherever they lie: nothing is lost to rounding, nothing
    fragments, and the scheduler's budget in tokens is exactly what fits. Reading is one `np.take` of whole rows (keys
    and values of one token in one layer are adjacent), which copies at memory speed.
    """

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


class Rows:
    """The views of a pass over R rows. A lone row is multiplied together with a row of zeros: see MIN_ROWS.

    Named `..._blocks` are views (N / 64, R, 64) that `multiply` fills, named `..._heads` are views per head.
    """

    def __init__(self, num_rows: int, width: int, num_heads: int, memory: list[np.ndarray]) -> None:
        residual, narrow, wide = memory
        heads = num_heads, width // num_heads
        self.num_rows = num_rows
        num_computed = max(MIN_ROWS, num_rows)
        self.residual = residual[: num_computed * width].reshape(num_computed, width)  # (R, C)
        self.scale = np.empty(num_computed, dtype=np.float32)
        self.scale_column = self.scale[:, None]
        # In `narrow`: the normed stream, then the output of attention, then that of the feed-forward layer.
        self.narrow = narrow[: num_computed * width].reshape(num_computed, width)  # (R, C)
        self.narrow_blocks = blocks_of(self.narrow)
        self.attended_heads = self.narrow[:num_rows].reshape(num_rows, *heads)  # (R, H, D)
        # In `wide`: queries, keys and values, then the output of attention projected, then the hidden layer.
        views = [wide[: num_computed * n * width].reshape(num_computed, n * width) for n in range(1, 5)]
        self.projected, self.kv, self.qkv, self.hidden = views  # (R, C), (R, 2C), (R, 3C), (R, 4C)
        self.projected_blocks, self.kv_blocks, self.qkv_blocks, self.hidden_blocks = map(blocks_of, views)
        self.qkv_heads = self.qkv[:num_rows].reshape(num_rows, 3, *heads)  # (R, 3, H, D)
        self.new_kv, self.last_new_kv = self.qkv[:num_rows, width:], self.kv[:num_rows]  # (R, 2C), of the last layer
        self.projected_heads = self.projected[:num_rows].reshape(num_rows, *heads)  # (R, H, D)


class RowMemory:
    """Holds the arrays of a pass, which grow where one has more rows than any before."""

    def __init__(self, width: int, num_heads: int) -> None:
        self._shape, self._max_rows = (width, num_heads), 0

    def rows(self, num_rows: int) -> Rows:
        """The views for a new pass: `residual` is to be filled first."""
        if num_rows > self._max_rows:
            self._max_rows = 1 << num_rows.bit_length()
            size = self._max_rows * self._shape[0]
            self._memory = np.split(allocate(6 * size), (size, 2 * size))  # three pieces would touch three huge pages
            self._rows: dict[int, Rows] = {}
        if num_rows not in self._rows:
            self._rows[num_rows] = Rows(num_rows, *self._shape, self._memory)
        rows = self._rows[num_rows]
        rows.residual[num_rows:] = 0
        return rows


def blocks_of(product: np.ndarray) -> np.ndarray:
    """The view (N / 64, R, 64) of a product (R, N)."""
    return product.reshape(len(product), -1, BLOCK_COLUMNS).transpose(1, 0, 2)
