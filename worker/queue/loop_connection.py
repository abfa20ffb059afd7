"""The connection of an API process to Redis, in the service of its event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from worker.queue.connection import Address, RedisConnection


class LoopConnection(RedisConnection):
    """Read where the loop says that something has come, so that no reply is switched between threads.

    What may wait for Redis, to connect and to send much, runs in a thread of its own: those of the loop may all wait
    for it. It subscribes before anything else is sent; in RESP3 it takes commands all the same.
    """

    def __init__(self, address: Address, channel: str, on_data: Callable[[], None]) -> None:
        super().__init__(address)
        self._loop, self._thread = asyncio.get_running_loop(), ThreadPoolExecutor(1)
        self._channel, self._on_data = channel, on_data
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

    def _open(self) -> None:
        super()._open()
        self.call("HELLO", 3)
        self.call("SUBSCRIBE", self._channel)

    def _watch(self, _: object) -> None:
        if self.is_open:
            self._watched = self.descriptor
            self._loop.add_reader(self._watched, self._on_data)

    def _unwatch(self) -> None:
        if self._watched >= 0:
            self._loop.remove_reader(self._watched)
            self._watched = -1
