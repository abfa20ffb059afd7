"""The Mini-GPT in NumPy: one packed forward pass per iteration.

Rows of new prompts and of running sequences go together through every matrix product; only attention knows whose
rows are whose. Prompts attend both ways (prefix attention), output tokens to everything before them. The last layer
computes queries, output and logits only for the rows whose next token is wanted.

A sequence gets the same bits whoever shares its batch, where BLAS computes a row alike in every batch of two or more:
no row is multiplied alone (`multiply`, `_attend_cached`), and how wide the longest neighbour makes the contexts changes
no sum (`CONTEXT_STEP`, `_softmax`). worker/self_test.py says whether it holds on this machine.

It knows arrays only: no text, no time, no queue. Shapes: R packed rows, P prompts, B decoding sequences, T tokens,
H heads, D head width, C model width, V vocabulary.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from worker.kv_cache import KVArena
from worker.weights import BLOCK_COLUMNS, BlockedMatrix, LayerWeights, Weights

NORM_EPSILON = 1e-5
MASKED = np.float32(-1e30)
# Contexts are as wide as a multiple of this, so that all that a wider batch appends to a sequence's sums is zeros, in
# places of their own: NumPy adds into 8 partial sums, and BLAS treats a last part of less than 4 columns differently.
CONTEXT_STEP = 8
_SUM_COLUMNS = 128  # NumPy sums more than this in halves, whose border depends on the width


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """One iteration's rows: first all prompts, one after the other, then one row per decoding sequence."""

    token_ids: np.ndarray  # (R,)
    positions: np.ndarray  # (R,)
    word_numbers: np.ndarray  # (R,)
    kv_rows: np.ndarray  # (R,) arena row that gets this token's keys and values
    prompt_lengths: np.ndarray  # (P,)
    context_rows: np.ndarray  # (B, T) arena rows each decoding sequence attends to, its own included; see CONTEXT_STEP
    context_lengths: np.ndarray  # (B,)

    @property
    def num_prompt_rows(self) -> int:
        return len(self.token_ids) - len(self.context_lengths)


class MiniGPT:
    """Weights plus a KV arena. `forward` is the only thing it does."""

    def __init__(self, weights: Weights, kv_budget_tokens: int) -> None:
        config = weights.config
        self.weights = weights
        self.config = config
        self.head_width = config.width // config.num_heads
        self.arena = KVArena(config.num_layers, kv_budget_tokens, config.num_heads, self.head_width)

    def forward(self, batch: PackedBatch) -> np.ndarray:
        """Logits (P + B, V) of the next token of every sequence; writes the arena rows named in the batch."""
        weights = self.weights
        layout = _Layout(batch)
        residual = weights.tok_emb[batch.token_ids]  # (R, C)
        residual += weights.pos_emb[batch.positions]
        residual += weights.word_emb[batch.word_numbers]
        for layer, layer_kv in zip(weights.layers[:-1], self.arena.layers[:-1], strict=True):
            qkv = multiply(_normed(residual), layer.qkv)  # (R, 3C)
            heads = qkv.reshape(len(qkv), 3, self.config.num_heads, self.head_width)
            layer_kv[batch.kv_rows] = heads[:, 1:]
            attended = self._attend(heads[:, 0], heads[:, 1:], layer_kv, batch, layout)
            _finish_block(residual, attended, layer)
        wanted = self._last_layer(residual, batch, layout)
        return multiply(_normed(wanted), weights.unembedding)[:, : self.config.vocab_size]

    def _last_layer(self, residual: np.ndarray, batch: PackedBatch, layout: _Layout) -> np.ndarray:
        """The last block, for wanted rows only: the last of each prompt and all decoding ones. (P + B, C)"""
        layer, layer_kv = self.weights.layers[-1], self.arena.layers[-1]
        normed = _normed(residual)
        kv = multiply(normed, layer.kv).reshape(len(normed), 2, self.config.num_heads, self.head_width)
        layer_kv[batch.kv_rows] = kv
        queries = multiply(normed[layout.wanted_rows], layer.q).reshape(-1, self.config.num_heads, self.head_width)
        num_prompts = len(batch.prompt_lengths)
        attended = np.empty_like(queries)
        for p, (start, stop) in enumerate(layout.bounds):
            attended[p] = _attend_one(queries[p : p + 1], kv[start:stop])[0]
        if len(batch.context_lengths):
            cached = layer_kv.take(batch.context_rows, axis=0)
            attended[num_prompts:] = _attend_cached(queries[num_prompts:], cached, layout.context_mask)
        wanted = residual[layout.wanted_rows]
        _finish_block(wanted, attended.reshape(len(wanted), -1), layer)
        return wanted

    def _attend(
        self, queries: np.ndarray, kv: np.ndarray, layer_kv: np.ndarray, batch: PackedBatch, layout: _Layout
    ) -> np.ndarray:
        """Attention output of all rows (R, C), from queries (R, H, D) and this pass's keys and values (R, 2, H, D)."""
        attended = np.empty(queries.shape, dtype=np.float32)
        for start, stop in layout.bounds:
            attended[start:stop] = _attend_one(queries[start:stop], kv[start:stop])
        if len(batch.context_lengths):
            cached, first = layer_kv.take(batch.context_rows, axis=0), batch.num_prompt_rows
            attended[first:] = _attend_cached(queries[first:], cached, layout.context_mask)
        return attended.reshape(len(attended), -1)


class _Layout:
    """Where each sequence's rows lie in the packed batch, and what a decoding one may see."""

    def __init__(self, batch: PackedBatch) -> None:
        stops = np.cumsum(batch.prompt_lengths)
        starts = stops - batch.prompt_lengths
        self.bounds = list(zip(starts.tolist(), stops.tolist(), strict=True))
        decode_rows = np.arange(batch.num_prompt_rows, len(batch.token_ids))
        self.wanted_rows = np.concatenate([stops - 1, decode_rows]).astype(np.intp)
        beyond = np.arange(batch.context_rows.shape[1]) >= batch.context_lengths[:, None]
        self.context_mask = np.where(beyond, MASKED, np.float32(0))[:, None, None]  # (B, 1, 1, T), added to scores


def multiply(rows: np.ndarray, matrix: BlockedMatrix) -> np.ndarray:
    """`rows` (R, K) times a blocked matrix (K, N): (R, N).

    A lone row would take another BLAS kernel, whose last bits differ; it is computed twice instead, and rows are cut
    into even parts so that none is left alone. So a sequence gets the same bits whoever shares its batch.
    """
    if len(rows) == 1:
        return multiply(np.repeat(rows, 2, axis=0), matrix)[:1]
    product = np.empty((len(rows), matrix.num_outputs), dtype=np.float32)
    num_parts = -(-len(rows) // matrix.max_rows)
    edges = [len(rows) * part // num_parts for part in range(num_parts + 1)]
    for start, stop in itertools.pairwise(edges):
        columns = product[start:stop].reshape(stop - start, -1, BLOCK_COLUMNS)
        np.matmul(rows[start:stop], matrix.blocks, out=columns.transpose(1, 0, 2))  # (N / 64, R, 64)
    return product


def _normed(residual: np.ndarray) -> np.ndarray:
    """Layer norm of a zero-mean stream; gains are folded into the matrix that follows."""
    variance = np.einsum("rc,rc->r", residual, residual) / residual.shape[1]
    return residual / np.sqrt(variance + NORM_EPSILON)[:, None]


def _finish_block(residual: np.ndarray, attended: np.ndarray, layer: LayerWeights) -> None:
    """Add the attention output and the ReLU-squared feed-forward layer (Primer, 2021) to the stream, in place."""
    residual += multiply(attended, layer.wo)
    hidden = multiply(_normed(residual), layer.w_in)  # (R, 4C)
    np.maximum(hidden, 0, out=hidden)
    np.multiply(hidden, hidden, out=hidden)
    residual += multiply(hidden, layer.w_out)


def _attend_one(queries: np.ndarray, kv: np.ndarray) -> np.ndarray:
    """Queries (T', H, D) over one prompt's keys and values (T, 2, H, D), both ways: no mask. (T', H, D)"""
    scores = np.matmul(queries.transpose(1, 0, 2), kv[:, 0].transpose(1, 2, 0))  # (H, T', T)
    _softmax(scores)
    return np.matmul(scores, kv[:, 1].transpose(1, 0, 2)).transpose(1, 0, 2)


def _attend_cached(queries: np.ndarray, kv: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """One query per decoding sequence (B, H, D) over its cached keys and values (B, T, 2, H, D). (B, H, D)

    The scores multiply the values twice over: for one row BLAS takes a kernel that sums in an order that depends on T.
    """
    scores = np.matmul(queries[:, :, None], kv[:, :, 0].transpose(0, 2, 3, 1))  # (B, H, 1, T)
    scores += mask
    _softmax(scores)
    return np.matmul(np.repeat(scores, 2, axis=2), kv[:, :, 1].transpose(0, 2, 1, 3))[:, :, 0]


def _softmax(scores: np.ndarray) -> None:
    """Over the last axis, in place."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    total = scores[..., :_SUM_COLUMNS].sum(axis=-1, keepdims=True)
    if scores.shape[-1] > _SUM_COLUMNS:
        total += scores[..., _SUM_COLUMNS:].sum(axis=-1, keepdims=True)
    scores /= total
