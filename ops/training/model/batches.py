"""Examples to batches of nearly equal length, made in processes of their own.

A pool of encoded examples is sorted by length, cut into batches of about so many tokens, and the batches are
shuffled. Corruptions are fresh on every pass, so nothing is stored; where a run goes on after a stop it starts a new
stream, seeded by the examples it has seen.
"""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import os
import queue
import random
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from multiprocessing.connection import Connection, wait
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np

from api.grammar.edit_script import PAD_ID, REASONS
from api.grammar.tokenizer import Tokenizer
from ops.training.text.maker import Example
from scheduler.errors import SentenceTooLong
from scheduler.messages import MAX_OUTPUT_TOKENS

if TYPE_CHECKING:
    from torch import Tensor

NO_TARGET = -100
POOL_SIZE = 8192  # examples sorted together: padding under 2 % at 4,000 tokens a batch
_QUEUE_SIZE = 64
_LEAST_OLD, _MOST_OLD = 100, 1000  # batches that may be met again: 1.6 GB of 131,072 tokens each
_DEATH_S = 5.0  # between the end of a pipe and that of its process
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


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """How batches are cut."""

    tokens_per_batch: int = 4000
    pool_size: int = POOL_SIZE


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


def cut_batches(rows: list[Encoded], options: BatchOptions, rng: random.Random) -> list[Batch]:
    """Batches of similar lengths, in random order."""
    rows = sorted(rows, key=lambda row: (len(row), len(row.prompt), rng.random()))
    batches: list[Batch] = []
    start = 0
    for end in range(1, len(rows) + 1):
        is_full = end == len(rows) or (end + 1 - start) * len(rows[end]) > options.tokens_per_batch
        if is_full:
            batches.append(collate(rows[start:end]))
            start = end
    rng.shuffle(batches)
    return batches


def batch_stream(
    examples: Iterable[Example], tokenizer: Tokenizer, options: BatchOptions, seed: int
) -> Iterator[Batch]:
    """Batches without end, as long as there are examples."""
    rng = random.Random(seed)
    pool_size, most = options.pool_size, max(options.pool_size, options.tokens_per_batch)  # large ones: some 30 batches
    encoded = (row for example in examples if (row := encode_example(tokenizer, example)) is not None)
    while pool := list(itertools.islice(encoded, pool_size)):
        yield from cut_batches(pool, options, rng)
        pool_size = min(2 * pool_size, most)  # the first batches are there soon


def to_tensors(batch: Batch, device: str) -> Batch:
    """The same batch as tensors on a device."""
    import torch

    arrays: dict[str, Tensor] = {
        item.name: torch.from_numpy(getattr(batch, item.name)).to(device).long() for item in fields(batch)
    }
    return Batch(**arrays)


@dataclass(slots=True)
class BackgroundBatches:
    """Batches by turns from several streams, each in a process of its own, so that the model never waits for them.

    `prepare` must be picklable (a module-level function or a partial of one). It is called once, in a process that
    then divides into one for each stream: they share what it has read. Where there are several streams, the model is
    a fast one: it gets old batches again, by chance, while no new one is ready. A failure in one ends the iteration
    with a RuntimeError that carries its message, and so does its death. Close it: the processes hold the corpus.
    Pipes, not Queues: with both its ends open in either process, one of those would wait for ever for the rest of
    what a killed process was writing, and keep the process when the trainer is killed.
    """

    prepare: Callable[[], Callable[[int], Iterator[Batch]]]  # gives the stream of a number
    num_streams: int = 1
    _pipes: list[Connection] = field(init=False)
    _process: Any = field(init=False)

    def __post_init__(self) -> None:
        context = multiprocessing.get_context("spawn")  # fork would copy the threads of torch
        pipes = [context.Pipe(duplex=False) for _ in range(self.num_streams)]
        self._pipes, their_pipes = [own for own, _ in pipes], [their for _, their in pipes]
        self._process = context.Process(target=_produce_all, args=(self.prepare, their_pipes))
        self._process.start()
        for pipe in their_pipes:
            pipe.close()

    def __iter__(self) -> Iterator[Batch]:
        rng, old = random.Random(0), deque[Batch](maxlen=_MOST_OLD)
        while True:
            may_repeat = self.num_streams > 1 and len(old) >= _LEAST_OLD
            ready = wait(self._pipes, 0 if may_repeat else None)
            if not ready:
                yield rng.choice(old)
            for pipe in ready:
                item = self._next_item(pipe, self._pipes.index(pipe))
                if item is None:
                    return
                if isinstance(item, str):
                    raise RuntimeError(f"the data process failed: {item}")
                if self.num_streams > 1:
                    old.append(item)
                yield item

    def close(self) -> None:
        """End the processes: the first ends the others."""
        for pipe in self._pipes:
            pipe.close()
        self._process.terminate()
        self._process.join()

    def _next_item(self, pipe: Connection, number: int) -> Batch | str | None:
        try:
            return pipe.recv()
        except (EOFError, OSError):  # OSError: it was killed while it wrote
            if number > 0:
                return f"that of stream {number} has ended"
            for _ in range(100):  # no join: the processes of other streams hold its sentinel
                if self._process.exitcode is not None:
                    break
                time.sleep(_DEATH_S / 100)
            return f"exit status {self._process.exitcode}"


def _produce_all(prepare: Callable[[], Callable[[int], Iterator[Batch]]], pipes: list[Connection]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the trainer, which ends these processes
    try:
        gc.disable()  # it would scan the corpus again and again, which costs half as much time as the rest
        make_stream = prepare()
    except Exception as error:  # the boundary of the process: the trainer must hear of every failure
        pipes[0].send(_failure(error))
        return
    gc.freeze()  # keeps it out of the shared corpus, whose pages it would copy
    gc.enable()
    number, others = 0, list[int]()
    for each in range(1, len(pipes)):
        pid = os.fork()
        if pid == 0:
            number = each
            break
        others.append(pid)
    if number == 0 and others:
        signal.signal(signal.SIGTERM, partial(_end_with, others))
    for other, pipe in enumerate(pipes):
        if other != number:
            pipe.close()  # or its reader would not see that its process has ended
    _produce(partial(make_stream, number), pipes[number])
    if number:
        os._exit(0)


def _end_with(others: list[int], *_: object) -> None:
    """A process of a stream may be long from its next batch: it is not to wait for that."""
    for pid in others:
        os.kill(pid, signal.SIGKILL)
    os._exit(1)


def _produce(make_stream: Callable[[], Iterator[Batch]], pipe: Connection) -> None:
    made: queue.Queue[Batch | str | None] = queue.Queue(_QUEUE_SIZE)
    sender = Thread(target=_send, args=(made, pipe), daemon=True)
    sender.start()
    try:
        for batch in make_stream():
            made.put(batch)
        made.put(None)
    except Exception as error:  # as above
        made.put(_failure(error))
    sender.join()


def _failure(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _send(made: queue.Queue[Batch | str | None], pipe: Connection) -> None:
    """A thread, so that the generator runs ahead. Ends the process where the trainer has ended."""
    while True:
        item = made.get()
        try:
            pipe.send(item)
        except BrokenPipeError:
            os._exit(1)
        if not isinstance(item, Batch):
            return
