"""The threads in which Flask answers, behind a2wsgi: many that may wait for the model, a few for all that does not."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from a2wsgi import WSGIMiddleware

from scheduler.errors import QueueFull

NUM_WAITING = 256
NUM_OTHERS = 32  # else pages and metrics would wait behind streams and batches, when they are needed most
_RETRY_S = 1.0
_WAITS = ("/check", "/events")  # so end the paths whose GET waits, too


class FlaskThreads:
    """An ASGI application around Flask's."""

    def __init__(self, flask: Any) -> None:
        self._waiting, self._others = WSGIMiddleware(flask), WSGIMiddleware(flask)
        self._waiting.executor, self._others.executor = _Threads(NUM_WAITING, NUM_WAITING), _Threads(NUM_OTHERS)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Raises QueueFull where no thread is left that may wait, or none can be started."""
        waits = scope["method"] == "POST" or scope["path"].rstrip("/").endswith(_WAITS)
        await (self._waiting if waits else self._others)(scope, receive, send)


class _Threads(ThreadPoolExecutor):
    def __init__(self, number: int, most: int = sys.maxsize) -> None:
        """`most`: at once, of which what has no thread waits for one."""
        super().__init__(number)
        self._free = threading.Semaphore(most)

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        if not self._free.acquire(blocking=False):
            raise QueueFull(f"{NUM_WAITING} streams, batches and the like wait in this process already.", _RETRY_S)
        is_refused = threading.Event()
        try:
            future = super().submit(lambda: None if is_refused.is_set() else call(*arguments, **named))
        except RuntimeError as error:  # the system has no more threads, but the call is in the queue of those there are
            is_refused.set()
            self._free.release()
            raise QueueFull("This replica cannot start another thread; try again.", _RETRY_S) from error
        future.add_done_callback(lambda _: self._free.release())
        return future
