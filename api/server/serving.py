"""One process of the API while it serves: from its start, over its probes, to its warm shutdown.

A shutdown ends when the last answer is sent. Readiness goes off first, and the port stays open to say so meanwhile.
Requests that still wait when the grace is over get 503.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from email.utils import formatdate
from itertools import islice
from typing import Any, cast

from api.http.app import Api
from api.http.handler import RequestHandler
from api.http.incoming import IncomingRequest, head_of
from api.http.replies import SECURITY_HEADERS
from api.server.connection import Connection
from api.server.connections import RETRY_S, Places, Shared, num_connections
from api.telemetry.line_writer import STDERR
from scheduler.errors import QueueFull, ServingError
from scheduler.urls import hide_password
from worker.queue.admission import shutting_down
from worker.queue.connection import Address
from worker.queue.protocol import MailboxStatus
from worker.queue.status_client import StatusClient

LAST_ANSWERS_S = 1.0  # for the 503s at the end of the grace to be sent
LINGER_S = 0.5  # for clients that send on a connection kept alive and do not know of the shutdown yet
_LAST_REPORT_S = 0.5  # for two status requests, which report the counts; for the last cancels and log lines, too
_TICK_S = 0.1
_MOST_ACCEPTED = 16  # in one iteration of the event loop, 2 ms of work; then all others have their turn
_BACKLOG = 2048
_MOST_UNREAD_BYTES = 1 << 20
_CLOSED_AT_ONCE = 64  # by a look at all, 3 ms of work; the next closes others
_STATUS_TIMEOUT_S = 0.5
_STEP_S = 0.001
# A thread that has much to do gives the interpreter to the event loop after so long.
_SWITCH_S = 0.0005
_turn = threading.Lock()
_paused = threading.local()
logger = logging.getLogger(__name__)


class Serving:
    """Used in the event loop of the process alone, which it keeps going."""

    def __init__(self, api: Api, max_connections: int) -> None:
        settings = api.services.settings
        self._api = api
        self._handler = RequestHandler(api, self._enter)
        self._places = Places(15 * num_connections(max_connections) // 16, settings.trusted_proxies)
        limits = settings.max_body_bytes, settings.keep_alive_s
        self._shared = Shared(self._places, self._handler.begin, *limits)
        told = api.services.recorder.totals, api.reports
        has_queue = settings.uses_queue
        self._status = StatusClient(Address(settings.redis_url, _STATUS_TIMEOUT_S), *told) if has_queue else None
        self._readiness = api.readiness
        self._readiness.is_full = lambda: self._places.is_full
        self._connecting: set[asyncio.Task[None]] = set()
        self._full: list[Any] = []  # listeners that wait for a free file until the next tick
        self._stopping: asyncio.Task[None] | None = None
        self._is_reachable = True

    async def serve(self, listeners: Sequence[Any], notify: Callable[[], None]) -> None:
        """`notify` is called now and then."""
        self._listeners, self._notify = listeners, notify
        self._loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):  # the last by gunicorn, for Ctrl-C
            self._loop.add_signal_handler(number, self._stop_once)
        self._api.services.queue.begin()
        threading.Thread(target=self._readiness.watch, args=(self._look,), daemon=True).start()
        # Before anybody is accepted: else POST /correct would be answered while /readyz still says 503.
        await self._wait_while(lambda: not self._readiness.has_asked, _STATUS_TIMEOUT_S)
        sys.setswitchinterval(_SWITCH_S)
        gc.collect()
        gc.freeze()  # the tables of the grammar stay: a full collection that looks through them stops all for 50 ms
        gc.set_threshold(10_000)  # requests leave no cycles: at 700 what they hold while they wait is looked through
        self._tick(self._loop.time())
        for listener in listeners:
            listener.setblocking(False)
            self._listen(listener)
        settings = self._api.services.settings
        logger.info("api is listening", extra={"host": settings.host, "port": settings.port, "pid": os.getpid()})
        while self._stopping is None or not self._stopping.done():
            due_s = self._loop.time() + _TICK_S
            await asyncio.sleep(_TICK_S)
            self._tick(due_s)
        self._stopping.result()
        STDERR.drain()
        os._exit(0)  # nothing is left to do

    def _look(self) -> MailboxStatus:
        """Asks the queue, and reports to it."""
        asked = MailboxStatus(redis_ok=True) if self._status is None else self._status.status()
        status = self._api.services.queue.status(asked)
        if status.redis_ok != self._is_reachable:
            self._is_reachable = status.redis_ok
            news = "the Redis of --redis-url answers"
            if not status.redis_ok:
                problem = status.refusal or "the Redis of --redis-url does not answer"
                news = f"{problem}; POST /correct says 503 until it does"
            logger.warning(news, extra={"redis_url": hide_password(self._api.services.settings.redis_url)})
        return status

    def _tick(self, due_s: float) -> None:
        now = self._loop.time()
        self._shared.first_headers = f"date: {formatdate(usegmt=True)}\r\n"
        self._readiness.last_iteration_s = time.monotonic()
        self._api.services.recorder.note_tick(max(0.0, now - due_s))
        self._notify()
        while self._full:
            self._listen(self._full.pop())
        looks = (each.look(now, self._places.are_scarce) for each in list(self._shared.open))
        for _ in islice(filter(None, looks), _CLOSED_AT_ONCE):
            pass

    def _listen(self, listener: Any) -> None:
        self._loop.add_reader(listener.fileno(), self._accept, listener)

    def _accept(self, listener: Any, most: int = _MOST_ACCEPTED) -> None:
        """uvloop itself accepts one in each iteration: in an overload a new client would wait for seconds."""
        for _ in range(most):
            try:
                connection, address = listener.accept()
            except OSError as error:  # BlockingIOError: there is no other
                if error.errno in (errno.EMFILE, errno.ENFILE):  # the loop would ask again at once, and for ever
                    self._loop.remove_reader(listener.fileno())
                    self._full.append(listener)
                return
            connection.setblocking(False)
            try:
                is_spare = self._places.take(address[0])
            except ServingError as error:
                self._refuse(connection, error)
            else:
                work = self._connect(connection, Connection(self._shared, address[0], is_spare))
                task = self._loop.create_task(work)
                self._connecting.add(task)
                task.add_done_callback(self._connecting.discard)

    async def _connect(self, connection: socket.socket, protocol: Connection) -> None:
        try:
            await self._loop.connect_accepted_socket(lambda: protocol, connection)
        except Exception:
            logger.warning("a connection could not be served", exc_info=True)
            connection.close()
            if protocol not in self._shared.open:  # nothing was begun, so nothing will end
                self._places.leave(protocol.address)

    def _refuse(self, connection: socket.socket, error: ServingError) -> None:
        """What has arrived is read, or closing the connection would take the reply back."""
        with suppress(OSError):  # BlockingIOError: nothing has
            connection.recv(_MOST_UNREAD_BYTES)
        reply, first = self._handler.refusal(error, IncomingRequest(None)), self._shared.first_headers
        with suppress(OSError):
            head = head_of(reply.status, reply.headers + SECURITY_HEADERS, first, keeps_alive=False)
            connection.send(head + cast(bytes, reply.body))
        connection.close()

    def _enter(self, request: IncomingRequest) -> Callable[[], None] | None:
        connection = request.link
        if connection.came_late:
            raise shutting_down()
        if self._places.are_many and connection.sends_no_more():
            # In an overload most of these have left, and answers to nobody would delay those to clients that wait.
            raise QueueFull("This replica is busy, and your side of the connection is closed; try again.", RETRY_S)
        forwarded_for = request.headers.get("x-forwarded-for", "")
        client = self._places.enter(connection.address, forwarded_for, connection.is_spare)
        return None if client is None else lambda: self._places.exit(client)

    def _stop_once(self) -> None:
        if not self._shared.first_headers:  # it has not begun, and nobody waits
            STDERR.drain()
            os._exit(0)
        if self._stopping is None:
            self._shared.is_stopping = self._readiness.is_stopping = True
            self._stopping = self._loop.create_task(self._stop())

    async def _stop(self) -> None:
        """Requests that wait are answered, and after the grace the rest gets 503; then the process ends."""
        logger.info("api is stopping", extra={"in_flight": self._handler.num_in_flight, "pid": os.getpid()})
        grace_s = self._api.services.settings.grace_s
        await self._wait_while(lambda: self._places.num_taken, min(LINGER_S, grace_s))
        await self._wait_while(lambda: self._handler.num_in_flight, grace_s)
        for listener in self._listeners:
            self._loop.remove_reader(listener.fileno())
            self._accept(listener, _BACKLOG)  # closing the port would reset connections that wait for it
            listener.close()
        self._full.clear()
        self._api.services.queue.close()
        await self._wait_while(lambda: self._handler.num_in_flight, LAST_ANSWERS_S)
        if self._status is not None:
            self._status.report_every_s = 0.0  # what was counted until now goes out, too
        stopped_s = time.monotonic()
        logger.info("api has stopped", extra={"pid": os.getpid()})
        await self._wait_while(lambda: self._readiness.asked_s < stopped_s or STDERR.has_lines, _LAST_REPORT_S)

    async def _wait_while(self, is_needed: Callable[[], Any], patience_s: float) -> None:
        deadline = time.monotonic() + patience_s
        while is_needed() and time.monotonic() < deadline:
            await asyncio.sleep(0.02)


def let_others_go_first() -> None:
    """Called often by a thread that has much to do: others have a millisecond after each of its own."""
    is_main = threading.current_thread() is threading.main_thread()  # which has the event loop, and short texts
    if is_main or time.monotonic() < getattr(_paused, "until_s", 0.0):
        return
    with _turn:  # of those threads one goes on at a time
        time.sleep(_STEP_S)
    _paused.until_s = time.monotonic() + _STEP_S
