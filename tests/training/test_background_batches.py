"""The process that makes batches: its end, however it comes, is told and not waited for."""

from __future__ import annotations

import collections
import contextlib
import itertools
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path

import pytest

from ops.training.model.batches import BackgroundBatches, Batch, Encoded, collate

ROW = Encoded((70, 5, 9, 2) * 5, (1, 2, 3, 0) * 5, (60, 70, 1), (0, 1, 0, 0) * 5)
DEADLINE_S = 60


def endless_batches(_: int = 0) -> Iterator[Batch]:
    while True:
        yield collate([ROW] * 800)  # more than a pipe holds: the process is nearly always in the middle of one


def two_batches(_: int) -> Iterator[Batch]:
    yield from itertools.islice(endless_batches(), 2)


def one_batch_and_a_failure(_: int) -> Iterator[Batch]:
    yield collate([ROW])
    raise ValueError("line 7 has no brace")


def of_its_number(number: int) -> Iterator[Batch]:
    while True:
        yield collate([ROW] * (1 + number))


def four_batches_and_a_wait(_: int) -> Iterator[Batch]:
    yield from (collate([ROW] * rows) for rows in (1, 2, 3, 4))
    time.sleep(30)


def stream_of(make_stream: Callable[[int], Iterator[Batch]]) -> Callable[[int], Iterator[Batch]]:
    """What `prepare` gives, once what all streams share is read."""
    return make_stream


def no_corpus() -> Callable[[int], Iterator[Batch]]:
    raise FileNotFoundError("no corpus there")


def background(make_stream: Callable[[int], Iterator[Batch]], num_streams: int = 1) -> BackgroundBatches:
    return BackgroundBatches(partial(stream_of, make_stream), num_streams)


def be_killed_with_a_data_process(pids: multiprocessing.Queue) -> None:
    batches = background(endless_batches)
    next(iter(batches))
    pids.put(batches._process.pid)
    signal.pause()


def test_all_batches_arrive_and_then_the_end():
    batches = background(two_batches)

    assert [len(batch) for batch in batches] == [800, 800]
    batches.close()


def test_a_failure_of_the_generator_is_told_after_what_it_made():
    batches = iter(background(one_batch_and_a_failure))

    assert len(next(batches)) == 1
    with pytest.raises(RuntimeError, match="the data process failed: ValueError: line 7 has no brace"):
        next(batches)


def test_several_streams_come_from_processes_of_their_own_that_end_with_it():
    batches = background(of_its_number, num_streams=3)
    stream, lengths = iter(batches), set[int]()
    while lengths != {1, 2, 3}:
        lengths.add(len(next(stream)))
    pid = batches._process.pid
    others = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    pidfds = [os.pidfd_open(int(other)) for other in others]

    batches.close()

    assert len(pidfds) == 2
    for pidfd in pidfds:  # readable once the process has ended
        assert wait([pidfd], timeout=DEADLINE_S)
        os.close(pidfd)


def test_a_failure_before_the_first_batch_is_told():
    with pytest.raises(RuntimeError, match="the data process failed: FileNotFoundError: no corpus there"):
        next(iter(BackgroundBatches(no_corpus, 2)))


def test_old_batches_come_again_while_no_new_one_is_ready(monkeypatch):
    monkeypatch.setattr("ops.training.model.batches._LEAST_OLD", 8)  # all that the two streams make at once
    with contextlib.closing(background(four_batches_and_a_wait, num_streams=2)) as batches:
        lengths = [len(batch) for batch in itertools.islice(batches, 60)]

    assert len(lengths) == 60
    assert set(lengths) == {1, 2, 3, 4}


def test_the_death_of_a_stream_beside_the_first_is_reported():
    with contextlib.closing(background(endless_batches, num_streams=2)) as batches:
        stream = iter(batches)
        next(stream)
        pid = batches._process.pid
        (other,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        os.kill(int(other), signal.SIGKILL)

        with pytest.raises(RuntimeError, match="stream 1 has ended"):
            collections.deque(stream, maxlen=0)


def test_a_data_process_that_is_killed_while_it_writes_is_told_and_not_waited_for():
    batches = background(endless_batches)
    stream = iter(batches)
    next(stream)

    assert batches._pipes[0].poll(DEADLINE_S)  # the next one has begun
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
