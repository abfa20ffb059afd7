"""Attention: prompts among themselves, both ways, and running sequences over what is cached of them.

Sequences are attended to in groups, a few calls for each: prompts of equal length together, and cached contexts side by
side, as wide as the longest of their group. So no call is made for one sequence alone, and a group's arrays stay in the
processor's cache. Scores lie with the attended tokens first, (T, ...): that makes the softmax a few operations on whole
rows, which add up token after token, so that the zeros behind a short context change no bit of its sums.

Shapes: as in worker/model/forward.py.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from worker.model.weights import ModelConfig

MASKED = np.float32(-1e30)
# So that few shapes are kept. No bits become equal by it: AVX2 adds a row by its place (docs/adr/0003).
CONTEXT_STEP = 8
GROUP_SEQUENCES = 16  # of 24 tokens: 384 KiB of keys and values, which the second-level cache holds; 32 are 2 % slower


class PromptAttention:
    """All prompts of a pass, each over itself, both ways. Neighbours of equal length share every product.

    The scores of all stand side by side, (T, X) for one softmax; behind a shorter prompt stand weights of zero.
    """

    def __init__(self, qkv: np.ndarray, attended: np.ndarray, lengths: list[int]) -> None:
        """Take queries, keys and values of a pass (R, 3, H, D), and the array for the output (R, H, D)."""
        num_heads = attended.shape[1]
        self._scores = np.empty((max(lengths, default=0), num_heads * sum(lengths)), dtype=np.float32)
        self._groups, start = [], 0
        for length, members in groupby(lengths):
            stop = start + sum(members)
            columns = self._scores[:length, num_heads * start : num_heads * stop]
            self._groups.append(_PromptGroup(qkv[start:stop], attended[start:stop], columns))
            start = stop

    def attend(self) -> None:
        if not self._groups:
            return
        self._scores.fill(MASKED)
        for group in self._groups:
            np.matmul(group.keys, group.queries, out=group.by_key)
        _softmax(self._scores)
        for group in self._groups:
            np.matmul(group.by_query, group.values, out=group.attended)


class _PromptGroup:
    """G prompts of one length."""

    def __init__(self, qkv: np.ndarray, attended: np.ndarray, scores: np.ndarray) -> None:
        length, (_, num_heads, head_width) = len(scores), attended.shape
        heads = qkv.reshape(-1, length, 3, num_heads, head_width)
        self.queries = heads[:, :, 0].transpose(0, 2, 3, 1)  # (G, H, D, T')
        self.keys = heads[:, :, 1].transpose(0, 2, 1, 3)  # (G, H, T, D)
        self.values = heads[:, :, 2].transpose(0, 2, 1, 3)  # (G, H, T, D)
        weights = scores.reshape(length, -1, num_heads, length)
        self.by_key = weights.transpose(1, 2, 0, 3)  # (G, H, T, T')
        self.by_query = weights.transpose(1, 2, 3, 0)  # (G, H, T', T)
        self.attended = attended.reshape(-1, length, num_heads, head_width).transpose(0, 2, 1, 3)  # (G, H, T', D)


class _Views:
    """Arrays for a group of S contexts of T tokens.

    Each head's query stands in a row of its own, among zeros, and the row's result is wanted at the same place. So
    there is one product for all heads of a sequence, and none of a single row: BLAS would take another kernel for it,
    whose sums depend on T.
    """

    def __init__(self, config: ModelConfig, memory: tuple[np.ndarray, ...], num: int, width: int) -> None:
        size, num_heads = config.width, config.num_heads
        heads = num, num_heads, num_heads, size // num_heads
        kv, scores, queries, attended = memory
        self.kv = kv[: num * width * 2 * size].reshape(num, width, 2 * size)  # (S, T, 2C)
        self.keys, self.values = self.kv[:, :, :size], self.kv[:, :, size:]  # (S, T, C)
        self.scores = scores[: width * num * num_heads].reshape(width, num, num_heads)  # (T, S, H)
        self.score_rows = self.scores.reshape(width, num * num_heads)  # (T, S * H)
        self.by_key = self.scores.transpose(1, 0, 2)  # (S, T, H)
        self.by_query = self.scores.transpose(1, 2, 0)  # (S, H, T)
        queries = queries[: num * num_heads * size].reshape(num, num_heads, size)
        self.queries = queries.transpose(0, 2, 1)  # (S, C, H)
        self.query_heads = np.einsum("shhd->shd", queries.reshape(heads))  # (S, H, D): what is not zero of them
        self.attended = attended[: num * num_heads * size].reshape(num, num_heads, size)  # (S, H, C)
        self.attended_heads = np.einsum("shhd->shd", self.attended.reshape(heads))  # (S, H, D): what is wanted of them


class ContextGroup(NamedTuple):
    """Sequences `first` to `last`, each with one query over its cached keys and values."""

    first: int
    last: int
    rows: np.ndarray  # (S, T)
    mask: np.ndarray  # (T, S, 1), added to the scores
    views: _Views

    def attend(self, queries: np.ndarray, layer_kv: np.ndarray, attended: np.ndarray) -> None:
        """Compute `attended` (S, H, D) from queries (S, H, D) and the arena of a layer (N, 2C), for all groups."""
        views = self.views
        layer_kv.take(self.rows, axis=0, out=views.kv, mode="clip")
        views.query_heads[...] = queries[self.first : self.last]
        np.matmul(views.keys, views.queries, out=views.by_key)
        np.add(views.scores, self.mask, out=views.scores)
        _softmax(views.score_rows)
        np.matmul(views.by_query, views.values, out=views.attended)
        attended[self.first : self.last] = views.attended_heads


class ContextBuffers:
    """Memory for one group of contexts after the other, and views of it by the group's shape."""

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        num_tokens = context_width(config.num_positions)
        size = GROUP_SEQUENCES * config.width
        self._memory = (
            np.empty(size * num_tokens * 2, dtype=np.float32),  # keys and values
            np.empty(GROUP_SEQUENCES * num_tokens * config.num_heads, dtype=np.float32),  # scores
            np.zeros(size * config.num_heads, dtype=np.float32),  # queries
            np.empty(size * config.num_heads, dtype=np.float32),  # what was attended
        )
        self._is_visible = np.arange(num_tokens) < np.arange(num_tokens + 1)[:, None]  # (length, T)
        self._masks = np.where(self._is_visible.T, np.float32(0), MASKED)  # (T, length)
        self._views: dict[tuple[int, int], _Views] = {}

    def groups(self, rows: np.ndarray, lengths: np.ndarray, num_prompts: int) -> list[ContextGroup]:
        """Neighbours, some at a time, prompts apart; where they are sorted by length there is least to read."""
        rows = rows[:, : context_width(int(np.maximum.reduce(lengths)))]
        num, longest = rows.shape
        # What stands behind a short context is its first row, which the processor has at hand.
        rows = np.where(self._is_visible[lengths, :longest], rows, rows[:, :1])
        masks = self._masks[:longest].take(lengths, axis=1)[:, :, None]
        starts = [*range(0, num_prompts, GROUP_SEQUENCES), *range(num_prompts, num, GROUP_SEQUENCES)]
        groups = []
        for first, last in pairwise([*starts, num]):
            width = min(context_width(int(np.maximum.reduce(lengths[first:last]))), longest)
            group_rows = np.ascontiguousarray(rows[first:last, :width])
            shape = last - first, width
            if shape not in self._views:
                self._views[shape] = _Views(self._config, self._memory, *shape)
            groups.append(ContextGroup(first, last, group_rows, masks[:width, first:last], self._views[shape]))
        return groups


def context_width(num_tokens: int) -> int:
    """How wide a context of so many tokens is."""
    return -(-num_tokens // CONTEXT_STEP) * CONTEXT_STEP


def _softmax(scores: np.ndarray) -> None:
    """Compute the softmax over the first axis of (T, X), in place."""
    np.subtract(scores, np.maximum.reduce(scores, axis=0), out=scores)
    np.exp(scores, out=scores)
    np.divide(scores, np.add.reduce(scores, axis=0), out=scores)
