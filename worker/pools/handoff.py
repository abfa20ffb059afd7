"""What a prefill worker gives to a decode worker, as bytes: keys and values of a prompt, and its first token.

Layout, little-endian: a head (`_HEAD`), then float32 keys and values (L, T, 2C). The checksum is that of all that
follows it. Bytes of another version, of other weights, or with a fault are refused, and the prompt is read again.
"""

from __future__ import annotations

import struct
import sys
import zlib
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from scheduler.pools import Handed
from worker.model.decoding import GreedyDecoder
from worker.model.weights import Weights

_VERSION = b"MSH2"
_SUM = struct.Struct("<4sI")  # version, CRC-32 of the rest
# Digest of the weights; layers, tokens, width of a row; first output id; what the decoder remembers; microseconds in
# the queue and of the prefill.
_HEAD = struct.Struct("<16sHHIIfdIQQ")


class HandoffError(ValueError):
    """Bytes that cannot be used; the request is computed again."""


@dataclass(frozen=True, slots=True)
class PromptState:
    """What the engine and its decoder remember of a prompt that was read."""

    kv: np.ndarray  # (L, T, 2C)
    decoder: tuple[float, float, int]  # certainty of the edit that is being written, what is asked besides, next place


class MovableDecoder(GreedyDecoder):
    """Its memory of a slot can be taken out, and put in elsewhere."""

    def take(self, slot: int) -> tuple[float, float, int]:
        return float(self._certainty[slot]), float(self._more[slot]), int(self._free[slot])

    def put(self, slot: int, memory: tuple[float, float, int]) -> None:
        self._certainty[slot], self._more[slot], self._free[slot] = memory


def weights_digest(weights: Weights) -> bytes:
    """Of what keys and values depend on: they mean nothing to other weights."""
    digest = blake2b(digest_size=16)
    digest.update(f"{weights.fingerprint} {weights.config}".encode())
    for matrix in (weights.tok_emb, *(layer.kv.blocks for layer in weights.layers)):
        digest.update(matrix.tobytes())
    return digest.digest()


def pack(handed: Handed, digest: bytes) -> bytes:
    state: PromptState = handed.state
    num_layers, num_tokens, width = state.kv.shape
    times = [max(0, round(seconds * 1e6)) for seconds in (handed.queue_s, handed.prefill_s)]
    about = digest, num_layers, num_tokens, width, handed.first_id
    head = _HEAD.pack(*about, *state.decoder, *times)
    rest = head + _little_endian(state.kv).tobytes()
    return _SUM.pack(_VERSION, zlib.crc32(rest)) + rest


def unpack(raw: bytes, digest: bytes, shape: tuple[int, int, int]) -> Handed:
    """`shape`: layers, tokens of the prompt, and width that are expected. Raises HandoffError."""
    if not raw:
        raise HandoffError("it is gone")
    if len(raw) < _SUM.size + _HEAD.size:
        raise HandoffError(f"{len(raw)} bytes are too few")
    version, checksum = _SUM.unpack_from(raw)
    if version != _VERSION:
        raise HandoffError(f"version {version!r}, this worker reads {_VERSION!r}")
    if zlib.crc32(memoryview(raw)[_SUM.size :]) != checksum:
        raise HandoffError("the checksum differs")
    head = _HEAD.unpack_from(raw, _SUM.size)
    made_with, layers, tokens, width, first_id, *decoder, queue_us, prefill_us = head
    if made_with != digest:
        raise HandoffError("it was computed with other weights")
    num_bytes = len(raw) - _SUM.size - _HEAD.size
    if (layers, tokens, width) != shape or num_bytes != 4 * layers * tokens * width:
        raise HandoffError(f"{num_bytes} bytes for {layers} x {tokens} x {width}, where {shape} are expected")
    values = np.frombuffer(raw, dtype="<f4", offset=_SUM.size + _HEAD.size)
    state = PromptState(values.reshape(layers, tokens, width), (decoder[0], decoder[1], decoder[2]))
    return Handed(first_id, queue_us / 1e6, prefill_us / 1e6, state)


def _little_endian(values: np.ndarray) -> np.ndarray:
    return values.astype("<f4") if sys.byteorder == "big" else values
