"""What a prefill worker gives to a decode worker, as bytes: keys and values of a prompt, and its first token.

A checksum, seven numbers, keys and values. The checksum begins with the weights' digest, so bytes of other weights, of
another version, or with a fault are refused alike, and the prompt is read again.
"""

from __future__ import annotations

import math
import zlib
from hashlib import blake2b

import numpy as np

from scheduler.pools import Handed
from worker.model.decoding import NUM_REMEMBERED
from worker.model.weights import Weights

_VERSION = 6
_SUM_BYTES, _ABOUT_BYTES = 4, 8 * (3 + NUM_REMEMBERED)


class HandoffError(ValueError):
    """Bytes that cannot be used; the request is computed again."""


def weights_digest(weights: Weights) -> bytes:
    """Of what keys and values depend on: they mean nothing to other weights."""
    digest = blake2b(digest_size=16)
    digest.update(f"{_VERSION} {weights.tokenizer_fingerprint} {weights.config}".encode())
    for matrix in (weights.tok_emb, *(layer.kv.blocks for layer in weights.layers)):
        digest.update(matrix.tobytes())
    return digest.digest()


def pack(handed: Handed, digest: bytes) -> bytes:
    about = np.array([handed.first_id, handed.queue_s, handed.prefill_s, *handed.decoder])
    body = about.tobytes() + np.ascontiguousarray(handed.kv, dtype=np.float32).tobytes()
    return _checksum(body, digest) + body


def unpack(raw: bytes, digest: bytes, shape: tuple[int, int, int]) -> Handed:
    """`shape`: layers, tokens of the prompt, and width that are expected. Raises HandoffError."""
    if not raw:
        raise HandoffError("it is gone")
    body = raw[_SUM_BYTES:]
    if raw[:_SUM_BYTES] != _checksum(body, digest):
        raise HandoffError("its bytes are torn, or of other weights")
    num_bytes = _ABOUT_BYTES + 4 * math.prod(shape)
    if len(body) != num_bytes:
        raise HandoffError(f"{len(body)} bytes, where {num_bytes} are expected")
    first_id, queue_s, prefill_s, *decoder = np.frombuffer(body, count=3 + NUM_REMEMBERED).tolist()
    kv = np.frombuffer(body, dtype=np.float32, offset=_ABOUT_BYTES).reshape(shape)
    return Handed(int(first_id), queue_s, prefill_s, kv, decoder)


def _checksum(body: bytes, digest: bytes) -> bytes:
    return zlib.crc32(body, zlib.crc32(digest)).to_bytes(_SUM_BYTES, "little")
