"""The process that makes batches: its end, however it comes, is told and not waited for."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
from collections.abc import Iterator
from multiprocessing.connection import wait

import pytest

from ops.training.model.batches import BackgroundBatches, Batch, Encoded, collate

ROW = Encoded((70, 5, 9, 2) * 5, (1, 2, 3, 0) * 5, (60, 70, 1), (0, 1, 0, 0) * 5)
DEADLINE_S = 60


def endless_batches() -> Iterator[Batch]:
    while True:
        yield collate([ROW] * 200)  # more than a pipe holds: the process is nearly always in the middle of one


def two_batches() -> Iterator[Batch]:
    yield from itertools.islice(endless_batches(), 2)


def one_batch_and_a_failure() -> Iterator[Batch]:
    yield collate([ROW])
    raise ValueError("line 7 has no brace")


def be_killed_with_a_data_process(pids: multiprocessing.Queue) -> None:
    batches = BackgroundBatches(endless_batches)
    next(iter(batches))
    pids.put(batches._process.pid)
    signal.pause()


def test_all_batches_arrive_and_then_the_end():
    batches = BackgroundBatches(two_batches)

    assert [len(batch) for batch in batches] == [200, 200]
    batches.close()


def test_a_failure_of_the_generator_is_told_after_what_it_made():
    batches = iter(BackgroundBatches(one_batch_and_a_failure))

    assert len(next(batches)) == 1
    with pytest.raises(RuntimeError, match="the data process failed: ValueError: line 7 has no brace"):
        next(batches)


def test_a_data_process_that_is_killed_while_it_writes_is_told_and_not_waited_for():
    batches = BackgroundBatches(endless_batches)
    stream = iter(batches)
    next(stream)

    assert batches._pipe.poll(DEADLINE_S)  # the next one has begun
    os.kill(batches._process.pid, signal.SIGKILL)

    with pytest.raises(RuntimeError, match="exit status -9"):
        next(stream)


def test_a_data_process_ends_with_a_trainer_that_is_killed():
    context = multiprocessing.get_context("spawn")
    pids = context.Queue()
    trainer = context.Process(target=be_killed_with_a_data_process, args=(pids,))
    trainer.start()
    pidfd = os.pidfd_open(pids.get(timeout=DEADLINE_S))

    os.kill(trainer.pid, signal.SIGKILL)

    # A file descriptor of a process is readable once the process has ended.
    assert wait([pidfd], timeout=DEADLINE_S)
    os.close(pidfd)
    trainer.join()
