"""The gunicorn worker that serves the API: gevent, with a prompt warm shutdown and a bound on every wait for a client.

What differs from gunicorn's own gevent worker: a shutdown ends as soon as the last answer is out, not after whole
seconds and idle keep-alive connections; requests that are still waiting when the grace is over are answered with
503; a broken request line or header gets a problem document instead of an HTML page.
"""

from __future__ import annotations

import time
from typing import Any

import gevent
from gevent.pool import Pool
from gevent.server import StreamServer
from gunicorn.workers.base_async import AsyncWorker
from gunicorn.workers.ggevent import GeventWorker

from api.app import CORRECTOR
from api.unreadable import CLIENT_STALL_S, AnswersUnreadable

LAST_ANSWERS_S = 1.0  # for the 503s at the end of the grace to get out
_LOOK_EVERY_S = 0.1  # at the signal to stop, which arrives outside the event loop
_NOTIFY_EVERY_S = 1.0


class ApiWorker(AnswersUnreadable, GeventWorker):
    """One process; every connection is a greenlet."""

    num_in_flight = 0

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        client.settimeout(CLIENT_STALL_S)
        AsyncWorker.handle(self, listener, client, addr)  # GeventWorker's own only takes the timeout off again

    def handle_request(self, *args: Any) -> Any:
        self.num_in_flight += 1
        try:
            return super().handle_request(*args)
        finally:
            self.num_in_flight -= 1

    def handle_quit(self, sig: int, frame: Any) -> None:
        self.alive = False  # Ctrl-C is a warm shutdown, too

    def run(self) -> None:
        servers = [self._start_server(listener) for listener in self.sockets]
        self._serve_until_told_to_stop()
        for server in servers:
            server.close()  # nothing new; what is in flight goes on
        self._wait_for_answers(self.wsgi.config["GRACE_S"])
        self.wsgi.extensions[CORRECTOR].close()
        self._wait_for_answers(LAST_ANSWERS_S)

    def _start_server(self, listener: Any) -> StreamServer:
        listener.setblocking(True)
        server = StreamServer(
            listener,
            handle=lambda client, addr: self.handle(listener, client, addr),
            spawn=Pool(self.worker_connections),
        )
        server.start()
        return server

    def _serve_until_told_to_stop(self) -> None:
        notified = 0.0
        while self.alive:
            if time.monotonic() - notified >= _NOTIFY_EVERY_S:
                notified = time.monotonic()
                self.notify()
            gevent.sleep(_LOOK_EVERY_S)

    def _wait_for_answers(self, patience_s: float) -> None:
        deadline = time.monotonic() + patience_s
        while self.num_in_flight and time.monotonic() < deadline:
            self.notify()
            gevent.sleep(0.02)
