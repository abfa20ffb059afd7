"""A connection to Redis in the service of an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from worker.queue.connection import RedisConnection, Where


class LoopConnection(RedisConnection):
    """Read where the loop says that something has come, so that no reply is switched between threads.

    What may wait for Redis, to connect and to send much, runs in a thread of its own: those of the loop may all wait
    for it.
    """

    def __init__(self, where: Where, on_data: Callable[[], None]) -> None:
        super().__init__(where)
        self._loop, self._thread = asyncio.get_running_loop(), ThreadPoolExecutor(1)
        self._on_data = on_data
        self._watched = -1

    def in_thread(self, work: Callable[..., None], *arguments: Any) -> asyncio.Future[None]:
        """Do it there. Nothing is read meanwhile: TLS bears one thread."""
        self._unwatch()
        future = self._loop.run_in_executor(self._thread, work, *arguments)
        future.add_done_callback(self._watch)
        return future

    def close(self) -> None:
        self._unwatch()
        super().close()

    def _watch(self, _: object) -> None:
        if self.is_open:
            self._watched = self.descriptor
            self._loop.add_reader(self._watched, self._on_data)

    def _unwatch(self) -> None:
        if self._watched >= 0:
            self._loop.remove_reader(self._watched)
            self._watched = -1
