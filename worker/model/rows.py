"""The memory of a forward pass: allocated once, with views of it for every number of rows that occurred.

Three arrays hold one thing after the other, so that what a layer works on is still in the processor's cache when it is
needed again; making the views anew would cost a lone request more than a layer.
"""

from __future__ import annotations

import numpy as np

from worker.model.memory import allocate
from worker.model.weights import BLOCK_COLUMNS, ModelConfig

MIN_ROWS = 2  # BLAS has another kernel for a lone row, whose last bits differ


class Rows:
    """The views of a pass over R rows. A lone row is multiplied together with a row of zeros: see MIN_ROWS.

    Named `..._blocks` are views (N / 64, R, 64) that `multiply` fills, named `..._heads` are views per head.
    """

    def __init__(self, config: ModelConfig, num_rows: int, memory: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        width, heads = config.width, (config.num_heads, config.width // config.num_heads)
        residual, narrow, wide = memory
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
        self.projected_heads = self.projected[:num_rows].reshape(num_rows, *heads)  # (R, H, D)


class RowMemory:
    """For passes of at most so many rows. Pages that no pass has reached take no memory."""

    def __init__(self, config: ModelConfig, max_rows: int) -> None:
        self._config = config
        size = max(MIN_ROWS, max_rows) * config.width
        self._memory = allocate(size), allocate(size), allocate(4 * size)
        self._rows: dict[int, Rows] = {}

    def rows(self, num_rows: int) -> Rows:
        """The views for a new pass: `residual` is to be filled first."""
        if num_rows not in self._rows:
            self._rows[num_rows] = Rows(self._config, num_rows, self._memory)
        rows = self._rows[num_rows]
        rows.residual[num_rows:] = 0
        return rows


def blocks_of(product: np.ndarray) -> np.ndarray:
    """The view (N / 64, R, 64) of a product (R, N)."""
    return product.reshape(len(product), -1, BLOCK_COLUMNS).transpose(1, 0, 2)
