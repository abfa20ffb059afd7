"""The tokenizer's file: read by a worker, too, which needs its fingerprint and nothing else of the grammar."""

from __future__ import annotations

import hashlib
from pathlib import Path

SHIPPED = Path(__file__).with_name("tokenizer.json")


def fingerprint(serialized: bytes) -> str:
    """Shows whether model and tokenizer match: the first 16 hex digits of a SHA-256."""
    return hashlib.sha256(serialized).hexdigest()[:16]
