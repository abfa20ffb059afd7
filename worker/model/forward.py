"""The Mini-GPT in NumPy: one packed forward pass per iteration.

Rows of new prompts and of running sequences go together through every matrix product; only attention knows whose
rows are whose. Prompts attend both ways (prefix attention), output tokens to everything before them. The last layer
computes queries, output and logits only for the rows whose next token is wanted.

A sequence gets the same bits in every batch, where BLAS computes a row alike in every batch of two or more:
no row is multiplied alone (`MIN_ROWS`), and how wide its longest neighbour makes the contexts changes no sum
(worker/model/attention.py). tests/unit/test_batch_invariance.py tests it.

It knows arrays only: no text, no time, no queue. Shapes: R packed rows, P prompts, S sequences (prompts and decoding
ones), G those of a group, T tokens, H heads, D head width, C model width, V vocabulary, N rows of the arena.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from worker.model.attention import ContextBuffers, ContextGroup, PromptAttention
from worker.model.memory import KVArena, RowMemory, Rows, blocks_of
from worker.model.weights import BlockedMatrix, LayerWeights, Weights

NORM_EPSILON = 1e-5
_ZERO_ROWS = 64  # to compare with as many rows takes half the time that it takes with one; more would fill the cache


class PackedBatch(NamedTuple):
    """One iteration's rows: first all prompts, one after the other, then one row per decoding sequence.

    Attention is cheapest where prompts and decoding sequences are each sorted by length.
    """

    token_ids: np.ndarray  # (R,)
    positions: np.ndarray  # (R,)
    word_numbers: np.ndarray  # (R,)
    kv_rows: np.ndarray  # (R,) arena row that gets this token's keys and values
    prompt_lengths: np.ndarray  # (P,)
    context_rows: np.ndarray  # (S, T) arena rows of each sequence's tokens, those of this pass included; then any rows
    context_lengths: np.ndarray  # (S,)


class MiniGPT:
    """Weights plus a KV arena. `forward` is the only thing it does."""

    def __init__(self, weights: Weights, kv_budget_tokens: int) -> None:
        config = weights.config
        self.weights = weights
        self.config = config
        self.arena = KVArena(config.num_layers, kv_budget_tokens, config.width)
        self._all_rows, self._wanted_rows = (RowMemory(config.width, config.num_heads) for _ in range(2))
        self._contexts = ContextBuffers(config)
        # Arrays where numbers would do: NumPy takes 1.5 times as long to add one, and four times to compare with one.
        self._zeros = np.zeros((_ZERO_ROWS, 4 * config.width), dtype=np.float32)
        self._epsilon = np.array(config.width * NORM_EPSILON, dtype=np.float32)

    def forward(self, batch: PackedBatch) -> np.ndarray:
        """Logits (S, V) of the next token of every sequence; writes the arena rows named in the batch."""
        rows = self._all_rows.rows(len(batch.token_ids))
        num_prompts = len(batch.prompt_lengths)
        prompts = PromptAttention(rows.qkv_heads, rows.attended_heads, batch.prompt_lengths.tolist())
        contexts = self._contexts.groups(batch.context_rows, batch.context_lengths, num_prompts)
        decodes = [group for group in contexts if group.first >= num_prompts]
        shift = rows.num_rows - len(batch.context_lengths)  # from a decoding sequence's number to its row
        queries, attended = rows.qkv_heads[shift:, 0], rows.attended_heads[shift:]
        self._embed(batch, rows)
        for layer, layer_kv in zip(self.weights.layers[:-1], self.arena.layers[:-1], strict=True):
            self._normalise(rows)
            multiply(rows.narrow, layer.qkv, rows.qkv_blocks)
            layer_kv[batch.kv_rows] = rows.new_kv
            prompts.attend()
            for group in decodes:
                group.attend(queries, layer_kv, attended)
            self._finish_block(rows, layer)
        wanted = self._last_layer(rows, batch, contexts)
        self._normalise(wanted)
        unembedding = self.weights.unembedding
        logits = np.empty((len(wanted.narrow), unembedding.num_outputs), dtype=np.float32)
        multiply(wanted.narrow, unembedding, blocks_of(logits))
        return logits[: wanted.num_rows, : self.config.vocab_size]

    def _embed(self, batch: PackedBatch, rows: Rows) -> None:
        weights, residual = self.weights, rows.residual[: rows.num_rows]
        weights.tok_emb.take(batch.token_ids, axis=0, out=residual, mode="clip")
        residual += weights.pos_emb.take(batch.positions, axis=0)
        residual += weights.word_emb.take(batch.word_numbers, axis=0)

    def _last_layer(self, rows: Rows, batch: PackedBatch, contexts: list[ContextGroup]) -> Rows:
        """Keys and values of all rows; all else for the last row of each sequence alone. (S, C)"""
        layer, layer_kv = self.weights.layers[-1], self.arena.layers[-1]
        self._normalise(rows)
        multiply(rows.narrow, layer.kv, rows.kv_blocks)
        layer_kv[batch.kv_rows] = rows.last_new_kv
        wanted = rows
        if len(batch.prompt_lengths):
            wanted = self._wanted_rows.rows(len(batch.context_lengths))
            rows.residual.take(_last_rows(batch), axis=0, out=wanted.residual[: wanted.num_rows], mode="clip")
            self._normalise(wanted)
        multiply(wanted.narrow, layer.q, wanted.projected_blocks)
        for group in contexts:
            group.attend(wanted.projected_heads, layer_kv, wanted.attended_heads)
        self._finish_block(wanted, layer)
        return wanted

    def _normalise(self, rows: Rows) -> None:
        """Layer norm of a zero-mean stream; gains and the root of C are folded into the matrix that follows."""
        np.vecdot(rows.residual, rows.residual, out=rows.scale)
        np.add(rows.scale, self._epsilon, out=rows.scale)
        np.sqrt(rows.scale, out=rows.scale)
        np.divide(rows.residual, rows.scale_column, out=rows.narrow)

    def _finish_block(self, rows: Rows, layer: LayerWeights) -> None:
        """Add the attention output and the ReLU-squared feed-forward layer (Primer, 2021) to the stream, in place."""
        residual, hidden = rows.residual, rows.hidden
        multiply(rows.narrow, layer.wo, rows.projected_blocks)
        np.add(residual, rows.projected, out=residual)
        self._normalise(rows)
        multiply(rows.narrow, layer.w_in, rows.hidden_blocks)
        np.maximum(hidden, self._zeros[: len(hidden)] if len(hidden) <= _ZERO_ROWS else self._zeros[0], out=hidden)
        np.multiply(hidden, hidden, out=hidden)
        multiply(hidden, layer.w_out, rows.narrow_blocks)
        np.add(residual, rows.narrow, out=residual)


def multiply(rows: np.ndarray, matrix: BlockedMatrix, blocks: np.ndarray) -> None:
    """`rows` (R, K) times a blocked matrix (K, N), into the view `blocks_of` the product (R, N).

    The rows are at least `MIN_ROWS`, and they are cut into even parts so that no part is smaller.
    """
    if len(rows) <= matrix.max_rows:
        np.matmul(rows, matrix.blocks, out=blocks)
        return
    num_parts = -(-len(rows) // matrix.max_rows)
    edges = [len(rows) * part // num_parts for part in range(num_parts + 1)]
    for start, stop in itertools.pairwise(edges):
        np.matmul(rows[start:stop], matrix.blocks, out=blocks[:, start:stop])


def _last_rows(batch: PackedBatch) -> np.ndarray:
    """The row of each sequence's last token. (S,)"""
    num_rows, num_decodes = len(batch.token_ids), len(batch.context_lengths) - len(batch.prompt_lengths)
    return np.concatenate([np.cumsum(batch.prompt_lengths) - 1, np.arange(num_rows - num_decodes, num_rows)])
