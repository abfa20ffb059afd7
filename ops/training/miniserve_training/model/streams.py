"""Batches from processes of their own, so that the model never waits for them."""

from __future__ import annotations

import gc
import queue
import random
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Event, Thread

from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from miniserve_training.model.batches import Batch

_PREFETCHED = 32  # batches a stream
_LEAST_OLD, _MOST_OLD = 100, 1000  # batches that may be met again: 1.6 GB of 131,072 tokens each

MakeStream = Callable[[int], Iterator[Batch]]  # gives the stream of a number


class _Streams(IterableDataset[Batch]):
    def __init__(self, make_stream: MakeStream) -> None:
        self._make_stream = make_stream

    def __iter__(self) -> Iterator[Batch]:
        return self._make_stream(get_worker_info().id)


def background_batches(make_stream: MakeStream, num_streams: int) -> Iterator[Batch]:
    """Batches of all streams as they come; a failure in a stream, and its death, are raised here.

    The processes are forks: they share what has been read and found before, the corpus above all. Where there are
    several, the model is a fast one: it meets old batches again, by chance, while no new one is ready.
    """
    gc.collect()
    gc.freeze()  # keeps the collector out of the shared corpus, whose pages it would copy
    loader = DataLoader(
        _Streams(make_stream), batch_size=None, num_workers=num_streams, prefetch_factor=_PREFETCHED, in_order=False,
        collate_fn=_as_it_is, multiprocessing_context="fork",
    )  # fmt: skip
    batches = iter(loader)  # by the main thread, which alone hears of the death of a process
    yield from _never_waiting(batches) if num_streams > 1 else batches


def _as_it_is(batch: Batch) -> Batch:
    return batch


def _never_waiting(batches: Iterator[Batch]) -> Iterator[Batch]:
    made: queue.Queue[Batch | Exception | None] = queue.Queue(_PREFETCHED)
    is_closed = Event()
    Thread(target=_read, args=(batches, made, is_closed), daemon=True).start()
    rng, old = random.Random(0), deque[Batch](maxlen=_MOST_OLD)
    try:
        while True:
            try:
                item = made.get(block=len(old) < _LEAST_OLD)
            except queue.Empty:
                item = rng.choice(old)
            else:
                old.append(item)
            if item is None:
                return
            if isinstance(item, Exception):
                raise item
            yield item
    finally:
        is_closed.set()
        with suppress(queue.Empty):
            made.get(block=False)  # the thread may wait for room; then it goes on and ends


def _read(batches: Iterator[Batch], made: queue.Queue[Batch | Exception | None], is_closed: Event) -> None:
    try:
        for batch in batches:
            made.put(batch)
            if is_closed.is_set():
                return
        made.put(None)
    except Exception as error:  # the boundary of the thread: whoever trains must hear of every failure
        made.put(error)
