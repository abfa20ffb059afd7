"""What is sent: the corpus that ships, or a file with one sentence a line."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import click

SHIPPED = Path(__file__).with_name("prompts.txt")


def load(path: Path | None, seed: int) -> list[str]:
    """The sentences in an order of the seed's. Raises click.UsageError for a file that holds none."""
    try:
        lines = (path or SHIPPED).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{path} cannot be read: {error}") from None
    sentences = [line for line in lines if line.strip()]
    if not sentences:
        raise click.UsageError(f"{path} holds no sentence; it takes one a line")
    random.Random(seed).shuffle(sentences)
    return sentences


def questions(sentences: Iterable[str]) -> list[dict[str, str]]:
    """The body of a POST /correct for each."""
    return [{"sentence": sentence} for sentence in sentences]
