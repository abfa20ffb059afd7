"""The gunicorn worker that serves the API: gevent, with a prompt warm shutdown and a bound on every wait for a client.

What differs from gunicorn's own gevent worker: a shutdown ends as soon as the last answer is out, not after whole
seconds and idle keep-alive connections; readiness goes off first, and the port stays open to say so while answers are
waited for; requests that are still waiting when the grace is over are answered with 503; a broken request line or
header gets a problem document instead of an HTML page. Connections come from the door (api/door.py).
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import gevent
from gevent import socket
from gevent.event import Event
from gevent.monkey import get_original
from gevent.pool import Pool
from gunicorn.workers.base_async import AsyncWorker
from gunicorn.workers.ggevent import GeventWorker

from api.app import BOOKS, CORRECTOR, READINESS
from api.door import Door
from api.open_files import places
from api.readiness import Readiness
from api.unreadable import CLIENT_STALL_S, AnswersUnreadable
from worker.mailbox import redis_status_watch

LAST_ANSWERS_S = 1.0  # for the 503s at the end of the grace to get out
LINGER_S = 0.5  # for who sends on a connection that was kept alive, and does not know yet
_LAST_WORDS_S = 0.2  # for what was called off at the very end to reach Redis
_LAST_REPORT_S = 0.5  # two of the questions that the counts go with; for the last lines of the log, too
_LOOK_EVERY_S = 0.1  # at the signal to stop, which arrives outside the event loop
_NOTIFY_EVERY_S = 1.0
_STATUS_TIMEOUT_S = 0.5


class ApiWorker(AnswersUnreadable, GeventWorker):
    """One process; every connection is a greenlet."""

    num_in_flight = 0
    num_open = 0

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        client.settimeout(CLIENT_STALL_S)
        self.num_open += 1
        try:
            AsyncWorker.handle(self, listener, client, addr)  # GeventWorker's own only takes the timeout off again
        finally:
            self.num_open -= 1

    @contextlib.contextmanager
    def timeout_ctx(self) -> Iterator[None]:
        """Around the wait for the next request. A client that sends none has left its connection idle, as it may: to
        gunicorn that is an error with a traceback for each, and a thousand of them are seconds of work."""
        with super().timeout_ctx(), contextlib.suppress(TimeoutError):
            yield

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> Any:
        self.num_in_flight += 1
        sock.settimeout(CLIENT_STALL_S)
        try:
            return super().handle_request(listener_name, req, sock, addr)
        finally:
            sock.settimeout(self.cfg.keepalive)  # between two requests it may be silent for longer
            self.num_in_flight -= 1

    def handle_quit(self, sig: int, frame: Any) -> None:
        self.alive = False  # Ctrl-C is a warm shutdown, too

    def run(self) -> None:
        gc.collect()
        gc.freeze()  # the tables of the agent stay: a full collection that looks through them stops all for 50 ms
        settings, books = self.wsgi.config["SETTINGS"], self.wsgi.extensions[BOOKS]
        watch = redis_status_watch(settings, _STATUS_TIMEOUT_S, books.tallies.totals, books.traces)
        self._readiness = Readiness(watch.status)
        self.wsgi.extensions[READINESS] = self._readiness
        self._arrivals: deque[tuple[int, Any]] = deque()
        self._has_arrived = Event()
        self._bell = gevent.get_hub().loop.async_()  # what another thread may ring
        self._bell.start(self._has_arrived.set)  # before the door opens: a ring that nobody hears is lost
        self._places = places(self.worker_connections)
        door = Door(self.sockets, self._readiness, self._admit, self._places.silent)
        gevent.spawn(self._take_in)
        exporting = [books.spans.run] if books.spans is not None else []
        for job in (self._readiness.watch, door.run, books.log.run, *exporting):
            get_original("_thread", "start_new_thread")(job, ())  # of the kernel: gevent's would take turns with us
        self._serve_until_told_to_stop()
        self._readiness.is_stopping = True
        grace_s = self.wsgi.config["SETTINGS"].grace_s
        self._wait_while(lambda: self.num_open, min(LINGER_S, grace_s))
        self._wait_for_answers(grace_s)
        door.close()
        for listener in self.sockets:
            listener.close()
        self._wait_for_answers(LAST_ANSWERS_S)  # to who came in at the last moment
        has_waiters = self.num_in_flight > 0
        self.wsgi.extensions[CORRECTOR].close()
        self._wait_for_answers(LAST_ANSWERS_S)
        if has_waiters:
            gevent.sleep(_LAST_WORDS_S)
        counted_s = time.monotonic()
        self._wait_while(lambda: self._readiness.asked_s < counted_s or books.has_unwritten, _LAST_REPORT_S)
        # Nothing is left to do. An orderly end of the interpreter would take gevent's loop away from under the threads.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    def _admit(self, descriptor: int, address: Any) -> bool:
        """A connection, from the door's thread; False where all places are taken."""
        if len(self._arrivals) + self.num_open >= self._places.served:
            return False
        self._arrivals.append((descriptor, address))
        self._bell.send()
        return True

    def _take_in(self) -> None:
        """What the door admits, for ever."""
        pool = Pool()  # the door has counted
        while True:
            self._has_arrived.wait()
            self._has_arrived.clear()
            while self._arrivals:
                descriptor, address = self._arrivals.popleft()
                try:
                    pool.spawn(self.handle, self.sockets[0], socket.socket(fileno=descriptor), address)
                except Exception:  # whatever one connection does to us, the others must be taken
                    self.log.exception("a connection could not be taken in")
                    with contextlib.suppress(OSError):
                        os.close(descriptor)

    def _serve_until_told_to_stop(self) -> None:
        notified = 0.0
        while self.alive:
            self._readiness.turned_s = time.monotonic()
            if time.monotonic() - notified >= _NOTIFY_EVERY_S:
                notified = time.monotonic()
                self.notify()
            gevent.sleep(_LOOK_EVERY_S)

    def _wait_for_answers(self, patience_s: float) -> None:
        gevent.sleep(0)  # who was taken in and has not begun
        self._wait_while(lambda: self.num_in_flight or self._arrivals, patience_s)

    def _wait_while(self, is_needed: Callable[[], Any], patience_s: float) -> None:
        deadline = time.monotonic() + patience_s
        while is_needed() and time.monotonic() < deadline:
            self.notify()
            gevent.sleep(0.02)
