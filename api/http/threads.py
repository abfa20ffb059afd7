"""The threads in which Flask answers: many may wait for the model, a few ask Redis, and a few do all the rest."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from io import BytesIO
from typing import Any

from api.http.incoming import Environ, IncomingRequest
from api.http.replies import Reply
from scheduler.errors import QueueFull

NUM_WAITING = 256
NUM_OTHERS = 32  # else pages and metrics would wait behind streams and batches, when they are needed most
_RETRY_S = 1.0
_WSGI: Environ = {
    "SCRIPT_NAME": "", "SERVER_NAME": "localhost", "SERVER_PORT": "80", "wsgi.version": (1, 0),
    "wsgi.url_scheme": "http", "wsgi.errors": sys.stderr, "wsgi.multithread": True, "wsgi.multiprocess": True,
    "wsgi.run_once": False,
}  # fmt: skip


class FlaskThreads:
    """A WSGI server around Flask's application, for requests whose bodies have come."""

    def __init__(self, flask: Any) -> None:
        self._flask = flask
        self.waiting, self.asking, self.others = (
            _Threads(NUM_WAITING, NUM_WAITING),
            _Threads(NUM_OTHERS),
            _Threads(NUM_OTHERS),
        )

    async def answer(self, request: IncomingRequest, body: BytesIO, pool: Executor) -> None:
        """Raises QueueFull where no thread is left that may wait, or none can be started."""
        loop = asyncio.get_running_loop()
        environ = _WSGI | request.environ | {"wsgi.input": body}
        reply = await loop.run_in_executor(pool, self._run, request, environ, loop)
        if reply is None:
            request.link.write(request, b"")
        else:
            request.link.respond(request, reply)

    def _run(self, request: IncomingRequest, environ: Environ, loop: asyncio.AbstractEventLoop) -> Reply | None:
        """The answer; None of a stream, which has been sent but for its end."""
        replies: list[Reply] = []

        def begin(status: str, headers: list[tuple[str, str]], _: object = None) -> None:
            replies.append(Reply(b"", int(status[:3]), headers))

        parts, link = self._flask(environ, begin), request.link
        try:
            iterator = iter(parts)
            first = next(iterator, b"")
            reply = replies[-1]
            is_whole = reply.status in (204, 304) or any(name.lower() == "content-length" for name, _ in reply.headers)
            if is_whole or environ["REQUEST_METHOD"] == "HEAD":
                return reply._replace(body=first + b"".join(iterator))
            loop.call_soon_threadsafe(link.start, request, reply, first)
            for part in filter(None, iterator):
                loop.call_soon_threadsafe(link.write, request, part)
                link.wait_for_room()
                if link.is_lost:
                    break
            return None
        finally:
            getattr(parts, "close", lambda: None)()


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
