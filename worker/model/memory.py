"""Memory for large arrays of float32."""

from __future__ import annotations

import math

import numpy as np

_ALIGNMENT = 2 << 20  # bytes: a huge page


def allocate(*shape: int) -> np.ndarray:
    """Like np.empty, but aligned to huge pages, which NumPy asks the kernel for from 4 MiB on.

    np.zeros would get small pages: with the weights and the KV cache in those the processor spends 6 % of an iteration
    on looking up addresses.
    """
    size = math.prod(shape)
    memory = np.empty(size + _ALIGNMENT // 4, dtype=np.float32)
    start = -memory.ctypes.data % _ALIGNMENT // 4
    return memory[start : start + size].reshape(shape)
