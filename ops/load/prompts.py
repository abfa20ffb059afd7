"""What is sent: the corpus that ships, or a file with one sentence a line."""

from __future__ import annotations

import random
from pathlib import Path

SHIPPED = Path(__file__).with_name("prompts.txt")


def load(path: Path | None, seed: int) -> list[str]:
    """The sentences in an order of the seed's. Raises ValueError for a file that holds none."""
    sentences = [line for line in (path or SHIPPED).read_text(encoding="utf-8").splitlines() if line.strip()]
    if not sentences:
        raise ValueError(f"{path} holds no sentence; it takes one a line")
    random.Random(seed).shuffle(sentences)
    return sentences
