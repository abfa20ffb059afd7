"""What a prefill worker gives to a decode worker, as bytes: keys and values of a prompt, and its first token.

A checksum, then a file of safetensors. The checksum begins with the weights' digest, so bytes of other weights, of
another version, or with a fault are refused alike, and the prompt is read again.
"""

from __future__ import annotations

import zlib
from hashlib import blake2b

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from scheduler.pools import Handed
from worker.model.decoding import GreedyDecoder
from worker.model.weights import Weights

_VERSION = 3
_SUM_BYTES = 4


class HandoffError(ValueError):
    """Bytes that cannot be used; the request is computed again."""


class MovableDecoder(GreedyDecoder):
    """Its memory of a slot can be taken out, and put in elsewhere."""

    def take(self, slot: int) -> tuple[float, float, int]:
        return float(self._certainty[slot]), float(self._more[slot]), int(self._free[slot])

    def put(self, slot: int, memory: tuple[float, float, int]) -> None:
        self._certainty[slot], self._more[slot], self._free[slot] = memory


def weights_digest(weights: Weights) -> bytes:
    """Of what keys and values depend on: they mean nothing to other weights."""
    digest = blake2b(digest_size=16)
    digest.update(f"{_VERSION} {weights.fingerprint} {weights.config}".encode())
    for matrix in (weights.tok_emb, *(layer.kv.blocks for layer in weights.layers)):
        digest.update(matrix.tobytes())
    return digest.digest()


def pack(handed: Handed, digest: bytes) -> bytes:
    about = np.array([handed.first_id, handed.queue_s, handed.prefill_s, *handed.decoder])
    body = save({"about": about, "kv": np.ascontiguousarray(handed.kv)})
    return _checksum(body, digest) + body


def unpack(raw: bytes, digest: bytes, shape: tuple[int, int, int]) -> Handed:
    """`shape`: layers, tokens of the prompt, and width that are expected. Raises HandoffError."""
    if not raw:
        raise HandoffError("it is gone")
    body = raw[_SUM_BYTES:]
    if raw[:_SUM_BYTES] != _checksum(body, digest):
        raise HandoffError("its bytes are torn, or of other weights")
    try:
        tensors = load(body)
        kv = tensors["kv"]
        first_id, queue_s, prefill_s, certainty, more, place = tensors["about"].tolist()
    except (SafetensorError, KeyError, ValueError) as error:
        raise HandoffError(f"its bytes make no sense: {error!r}") from error
    if kv.shape != shape or kv.dtype != np.float32:
        raise HandoffError(f"{kv.dtype} {kv.shape}, where float32 {shape} are expected")
    return Handed(int(first_id), queue_s, prefill_s, kv, (certainty, more, int(place)))


def _checksum(body: bytes, digest: bytes) -> bytes:
    return zlib.crc32(body, zlib.crc32(digest)).to_bytes(_SUM_BYTES, "little")
