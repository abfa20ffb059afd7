"""A wider model that begins where a narrower one stands.

What is new is written to by small random numbers and read by zeros ("Net2Net", Chen et al., 2016, where it is copied),
so the wide model answers as the narrow one does, until it learns to read it. The norms now divide by the deviation of
all of the width, most of which was there before: the gains make up for that.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from miniserve_training.model.twin import Layer, Twin
from worker.model.weights import BLOCK_COLUMNS

_SMALL = 0.02  # deviation of what is written into the new part


@torch.no_grad()
def widened(narrow: Twin, width: int) -> Twin:
    """A twin of `width` that gives nearly the same logits as `narrow`; its heads are as wide, and more.

    Raises ValueError where no whole number of heads makes up the width, where the engine has no blocks for it, or
    where it is smaller.
    """
    old = narrow.config.width
    num_heads, rest = divmod(width * narrow.config.num_heads, old)
    if width == old:
        return narrow
    if rest or width < old or width % BLOCK_COLUMNS:
        raise ValueError(f"a model of width {old} does not grow to {width}: take a multiple of {BLOCK_COLUMNS} above")
    wide = Twin(replace(narrow.config, width=width, num_heads=num_heads))
    gain = (old / width) ** 0.5
    for name in ("tok_emb", "pos_emb", "word_emb"):
        _grow(getattr(wide, name), getattr(narrow, name), new_columns=_SMALL)
    _grow(wide.detection, narrow.detection)
    wide.norm_f.fill_(gain)[:old] = narrow.norm_f * gain
    for new, layer in zip(wide.layers, narrow.layers, strict=True):
        _grow_layer(new, layer, gain)
    return wide


def _grow_layer(wide: Layer, narrow: Layer, gain: float) -> None:
    old = len(narrow.norm1)
    for name in ("norm1", "norm2"):
        getattr(wide, name).fill_(gain)[:old] = getattr(narrow, name) * gain
    for name in ("wq", "wk", "wv", "w_in"):
        matrix = getattr(narrow, name)
        _grow(getattr(wide, name), matrix, new_columns=float(matrix.std()))  # nothing reads what comes of them yet
    for name in ("wo", "w_out"):
        _grow(getattr(wide, name), getattr(narrow, name), new_columns=_SMALL)


def _grow(wide: Tensor, narrow: Tensor, new_columns: float = 0.0) -> None:
    """Take over what is there; new rows are zeros, new columns random."""
    rows, columns = narrow.shape
    wide.zero_()
    wide[:rows, :columns] = narrow
    if wide.shape[1] > columns:
        wide[:, columns:].normal_(std=new_columns)
