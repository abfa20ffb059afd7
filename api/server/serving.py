"""One process of the API while it serves: from its start, over its probes, to its warm shutdown.

A shutdown ends when the last answer is sent. Readiness goes off first, and the port stays open to say so meanwhile.
Requests that still wait when the grace is over get 503.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from itertools import islice
from typing import Any

from api.http.app import Api
from api.http.asgi import AsgiApi, refusal, written
from api.server.acceptor import Acceptor
from api.server.connections import RETRY_S, Places, num_connections
from api.telemetry.line_writer import STDERR
from scheduler.errors import QueueFull, ServingError
from scheduler.urls import hide_password
from worker.queue.admission import shutting_down
from worker.queue.connection import Address
from worker.queue.protocol import MailboxStatus
from worker.queue.status_client import StatusClient

LAST_ANSWERS_S = 1.0  # for the 503s at the end of the grace to be sent
LINGER_S = 0.5  # for clients that send on a connection kept alive and do not know of the shutdown yet
_LAST_CANCELS_S = 0.2  # for the cancels of the requests that got a 503 to reach Redis
_LAST_REPORT_S = 0.5  # for two status requests, which report the counts; for the last lines of the log, too
_TICK_S = 0.1
_CLOSED_AT_ONCE = 64  # by a look at all, 3 ms of work; the next closes others
_STATUS_TIMEOUT_S = 0.5
_STEP_S = 0.001
# A thread that has much to do gives the interpreter to the event loop after so long.
_SWITCH_S = 0.0005
_turn = threading.Lock()
logger = logging.getLogger(__name__)


class Serving:
    """The ASGI application that uvicorn runs."""

    def __init__(self, api: Api, max_connections: int) -> None:
        settings = api.services.settings
        self.max_body_bytes, self.keep_alive_s = settings.max_body_bytes, settings.keep_alive_s
        self._api = api
        self._asgi = AsgiApi(api, self._enter, lambda: self.is_stopping or self.places.are_scarce)
        self.places = Places(15 * num_connections(max_connections) // 16, settings.trusted_proxies)
        told = api.services.recorder.totals, api.reports
        has_queue = settings.uses_queue
        self._status = StatusClient(Address(settings.redis_url, _STATUS_TIMEOUT_S), *told) if has_queue else None
        self._readiness = api.readiness
        self._readiness.begin(self._look, lambda: self.places.is_full)
        self._tasks: set[asyncio.Task[None]] = set()
        self._uvicorns: dict[int, Any] = {}

    def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Coroutine[Any, Any, None]:
        return self._asgi(scope, receive, send) if scope["type"] == "http" else self._live(receive, send)

    async def _live(self, receive: Any, send: Any) -> None:
        await receive()
        await self._start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._end()

    async def _start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._api.services.queue.begin(self._loop)
        threading.Thread(target=_warn_if_unreachable, args=(self._api,), daemon=True).start()
        _start_thread(self._readiness.watch)
        # Before anybody is accepted: else POST /correct would be answered while /readyz still says 503.
        await self._wait_while(lambda: not self._readiness.has_asked, _STATUS_TIMEOUT_S)
        self._acceptor = Acceptor(self._loop, self._listeners, self._admit)
        sys.setswitchinterval(_SWITCH_S)
        gc.collect()
        gc.freeze()  # the tables of the grammar stay: a full collection that looks through them stops all for 50 ms
        gc.set_threshold(10_000)  # requests leave no cycles: at 700 what they hold while they wait is looked through
        for number in (signal.SIGTERM, signal.SIGINT):
            self._uvicorns[number] = signal.signal(number, self._on_signal)
        self._run(self._tick())

    def _look(self) -> MailboxStatus:
        """Asks the queue, and reports to it."""
        mailbox = self._api.services.queue
        return mailbox.status() if self._status is None else mailbox.check_hearing(self._status.status())

    def _run(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(end_by_failure)

    async def _tick(self) -> None:
        due_s = self._loop.time()
        while True:
            now = self._loop.time()
            self._readiness.last_iteration_s = time.monotonic()
            self._api.services.recorder.note_tick(max(0.0, now - due_s))
            looks = (each.look(now, self.places.are_scarce) for each in list(self._server.server_state.connections))
            for _ in islice(filter(None, looks), _CLOSED_AT_ONCE):
                pass
            due_s = now + _TICK_S
            await asyncio.sleep(_TICK_S)

    def listen(self, server: Any, listeners: Sequence[Any]) -> None:
        """uvicorn's server, which accepts nothing itself, and where connections come from."""
        self._server, self._listeners = server, listeners

    def _admit(self, connection: socket.socket, address: str) -> Callable[[bytes], bytes] | None:
        try:
            is_spare = self.places.take(address)
        except ServingError as error:
            return partial(self.refusal, error)
        self._run(self._serve(connection, address, is_spare))
        return None

    async def _serve(self, connection: socket.socket, address: str, is_spare: bool) -> None:
        connection.setblocking(False)
        config, state = self._server.config, self._server.server_state
        protocol = config.http_protocol_class(config=config, server_state=state, app_state={"limits": self})
        protocol.address, protocol.is_spare = address, is_spare
        try:
            await self._loop.connect_accepted_socket(lambda: protocol, connection)
        except Exception:
            logger.warning("a connection could not be served", exc_info=True)
            connection.close()
            if protocol.transport is None:  # nothing was begun, so nothing will end
                self.places.leave(address)

    @property
    def is_stopping(self) -> bool:
        return self._readiness.is_stopping

    def _enter(self, connection: Any, environ: dict[str, Any]) -> Callable[[], None] | None:
        if connection.came_late:
            raise shutting_down()
        if self.places.are_many and connection.sends_no_more():
            # In an overload most of these have left, and answers to nobody would delay those to clients that wait.
            raise QueueFull("This replica is busy, and your side of the connection is closed; try again.", RETRY_S)
        client = self.places.enter(connection.address, environ.get("HTTP_X_FORWARDED_FOR", ""), connection.is_spare)
        return None if client is None else lambda: self.places.exit(client)

    def refusal(self, error: ServingError, asked: bytes = b"") -> bytes:
        """The whole answer to what comes to no application."""
        reply = refusal(self._api, error, b"/v2/" in asked[:20])
        return written(reply, self._server.server_state.default_headers, keeps_alive=False)

    def _on_signal(self, number: int, frame: Any) -> None:
        self._loop.call_soon_threadsafe(self.stop)

    def stop(self) -> None:
        """Begin the warm shutdown; once."""
        if not self._uvicorns:  # it has not begun, and nobody waits
            STDERR.drain()
            os._exit(0)
        if not self._readiness.is_stopping:
            self._readiness.is_stopping = True
            self._run(self._stop())

    async def _stop(self) -> None:
        """Requests that wait are answered, and after the grace the rest gets 503; then uvicorn stops."""
        grace_s = self._api.services.settings.grace_s
        await self._wait_while(lambda: self.places.num_taken, min(LINGER_S, grace_s))
        await self._wait_while(lambda: self._asgi.num_in_flight, grace_s)
        self._acceptor.close(partial(self.refusal, shutting_down()))
        await self._wait_while(lambda: self._asgi.num_in_flight, min(LAST_ANSWERS_S, grace_s))
        has_waiters = self._asgi.num_in_flight > 0
        self._api.services.queue.close()
        await self._wait_while(lambda: self._asgi.num_in_flight, LAST_ANSWERS_S)
        if has_waiters:
            await asyncio.sleep(_LAST_CANCELS_S)
        self._uvicorns[signal.SIGTERM](signal.SIGTERM, None)

    async def _end(self) -> None:
        if self._status is not None:
            self._status.report_every_s = 0.0  # what was counted until now goes out, too
        stopped_s = time.monotonic()
        await self._wait_while(lambda: self._readiness.asked_s < stopped_s or STDERR.has_lines, _LAST_REPORT_S)
        STDERR.drain()
        os._exit(0)  # nothing is left to do; uvicorn would end by the signal that it has got

    async def _wait_while(self, is_needed: Callable[[], Any], patience_s: float) -> None:
        deadline = time.monotonic() + patience_s
        while is_needed() and time.monotonic() < deadline:
            await asyncio.sleep(0.02)


def let_others_go_first() -> None:
    """Called every millisecond or two by a thread that has much to do: of those one goes on at a time."""
    if threading.current_thread() is not threading.main_thread():  # which has the event loop, and short texts
        with _turn:
            time.sleep(_STEP_S)


def _warn_if_unreachable(api: Api) -> None:
    queue, about = api.services.queue, {"redis_url": hide_password(api.services.settings.redis_url)}
    status = queue.status()
    if status.redis_ok:
        return
    problem = status.refusal or queue.status().refusal or "the Redis of --redis-url does not answer"
    logger.warning(f"{problem}; POST /correct says 503 until it does", extra=about)
    while not queue.status().redis_ok:
        time.sleep(1.0)
    logger.warning("the Redis of --redis-url answers", extra=about)


def _start_thread(helper: Callable[[], None]) -> None:
    threading.Thread(target=run_or_end, args=(helper,), daemon=True).start()


def end_by_failure(task: asyncio.Task[None]) -> None:
    run_or_end(task.result)


def run_or_end(helper: Callable[[], None]) -> None:
    """A process without one of its helpers would serve nobody and not say so: it ends, and gunicorn starts another."""
    try:
        helper()
    except BaseException:
        logger.critical("a helper died, and this process ends", extra={"helper": helper.__qualname__}, exc_info=True)
        STDERR.drain()
        os._exit(os.EX_SOFTWARE)
