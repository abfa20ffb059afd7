"""Examples to batches of nearly equal length.

A pool of encoded examples is sorted by length, cut into batches of about so many tokens, and the batches are
shuffled. Corruptions are fresh on every pass, so nothing is stored.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch

from api.grammar.edit_script import PAD_ID, REASONS
from api.grammar.tokenizer import Tokenizer
from miniserve_training.text.maker import Example
from scheduler.errors import SentenceTooLong
from scheduler.messages import MAX_OUTPUT_TOKENS

NO_TARGET = -100
POOL_SIZE = 8192  # examples sorted together: padding under 2 % at 4,000 tokens a batch
_LABEL_OF = {reason: rank + 1 for rank, reason in enumerate(REASONS)}  # 0 = nothing wrong here


@dataclass(frozen=True, slots=True)
class Encoded:
    """One example in token ids."""

    prompt: tuple[int, ...]
    word_numbers: tuple[int, ...]
    output: tuple[int, ...]
    labels: tuple[int, ...]  # one per prompt token

    def __len__(self) -> int:
        return len(self.prompt) + len(self.output) - 1  # the last output token is never an input


@dataclass(frozen=True, slots=True)
class Batch:
    """B rows, padded at the end to T. Small integers in NumPy from the producer, 64-bit tensors by `to_tensors`.

    Places count the tokens of all rows: where they are known before the step, a GPU is not waited for.
    """

    tokens: Any  # (B, T)
    word_numbers: Any  # (B, T)
    targets: Any  # (B, T), NO_TARGET where no output token is predicted
    labels: Any  # (B, T), NO_TARGET outside the prompt
    prompt_lengths: Any  # (B,)
    target_places: Any  # of all targets that are not NO_TARGET
    label_places: Any

    def __len__(self) -> int:
        return len(self.prompt_lengths)


def encode_example(tokenizer: Tokenizer, example: Example) -> Encoded | None:
    """Token ids of an example; None if it is over the model's limits."""
    try:
        prompt = tokenizer.encode(example.sentence)
    except SentenceTooLong:
        return None
    output = tokenizer.encode_output(example.edits)
    if len(output) > MAX_OUTPUT_TOKENS:
        return None
    label_of_row = {
        word + 1: _LABEL_OF[edit.reason]
        for edit in example.edits
        for word in range(edit.word, edit.word + edit.num_words)
    }
    labels = tuple(label_of_row.get(row, 0) for row in prompt.word_numbers)
    return Encoded(prompt.token_ids, prompt.word_numbers, tuple(output), labels)


def collate(rows: list[Encoded]) -> Batch:
    """Pad rows into one batch of NumPy arrays."""
    B, T = len(rows), max(map(len, rows))
    tokens = np.full((B, T), PAD_ID, dtype=np.int16)
    word_numbers = np.zeros((B, T), dtype=np.int16)
    targets, labels = (np.full((B, T), NO_TARGET, dtype=np.int16) for _ in range(2))
    for index, row in enumerate(rows):
        P, N = len(row.prompt), len(row)
        tokens[index, :N] = np.array(row.prompt + row.output[:-1], dtype=np.int16)  # raises where one does not fit
        word_numbers[index, :P] = row.word_numbers
        targets[index, P - 1 : N] = row.output
        labels[index, :P] = row.labels
    prompt_lengths = np.array([len(row.prompt) for row in rows], dtype=np.int16)
    places = (np.flatnonzero(each != NO_TARGET).astype(np.int32) for each in (targets, labels))
    return Batch(tokens, word_numbers, targets, labels, prompt_lengths, *places)


def cut_batches(rows: list[Encoded], tokens_per_batch: int, rng: random.Random) -> list[Batch]:
    """Batches of similar lengths, in random order."""
    rows = sorted(rows, key=lambda row: (len(row), len(row.prompt), rng.random()))
    batches: list[Batch] = []
    start = 0
    for end in range(1, len(rows) + 1):
        is_full = end == len(rows) or (end + 1 - start) * len(rows[end]) > tokens_per_batch
        if is_full:
            batches.append(collate(rows[start:end]))
            start = end
    rng.shuffle(batches)
    return batches


def batch_stream(
    examples: Iterable[Example], tokenizer: Tokenizer, tokens_per_batch: int, rng: random.Random
) -> Iterator[Batch]:
    """Batches without end, as long as there are examples."""
    pool_size, most = POOL_SIZE, max(POOL_SIZE, tokens_per_batch)  # of large batches some 30
    encoded = (row for example in examples if (row := encode_example(tokenizer, example)) is not None)
    while pool := list(itertools.islice(encoded, pool_size)):
        yield from cut_batches(pool, tokens_per_batch, rng)
        pool_size = min(2 * pool_size, most)  # the first batches are there soon


def to_tensors(batch: Batch, device: str) -> Batch:
    """The same batch as tensors on a device."""
    return Batch(**{item.name: torch.from_numpy(getattr(batch, item.name)).to(device).long() for item in fields(batch)})
