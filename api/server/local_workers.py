"""The gunicorn workers of the modes that have the model in the API process.

`sync` is gunicorn's plain worker: one connection at a time, closed after each answer, the others wait in the kernel's
backlog. `threaded` has a thread for each request. Both finish the requests that they have begun when they are stopped.
Both bound the time in which a client may send a request.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Sequence
from typing import Any

from gunicorn.workers.gthread import TConn, ThreadWorker
from gunicorn.workers.sync import SyncWorker

from api.http.app import Api
from api.http.replies import KEPT_BY_BROWSERS, SECURITY_HEADERS, Header
from api.server.raw_replies import CLIENT_STALL_S, AnswersUnreadable

_SYNC_STALL_S = 5.0  # of the one client at a time: all others wait for it
_SYNC_REQUEST_S = 10.0  # for all of its request
_REQUEST_S = 40.0  # as in api/server/client_socket.py: 10 s for a head, 30 s for a body


class _ClientSocket(socket.socket):
    """A connection that ends, for its reader, when its client takes too long to send a request."""

    __slots__ = ("_until_s",)
    _until_s: float

    @classmethod
    def of(cls, client: socket.socket, within_s: float) -> _ClientSocket:
        own = client if isinstance(client, cls) else cls(fileno=client.detach())
        own._until_s = time.monotonic() + within_s
        return own

    def recv(self, size: int, flags: int = 0) -> bytes:
        left_s, patience_s = self._until_s - time.monotonic(), self.gettimeout()
        if left_s <= 0:
            return b""
        stall_s = CLIENT_STALL_S if patience_s is None else patience_s
        self.settimeout(min(left_s, stall_s))
        try:
            return super().recv(size, flags)
        except TimeoutError:
            if stall_s < left_s:
                raise
            return b""
        finally:
            self.settimeout(patience_s)


class _LocalWorker(AnswersUnreadable):
    """Writes the headers of every response, as the worker of the other modes does in bytes."""

    def load_wsgi(self) -> None:
        super().load_wsgi()
        application = self.wsgi.wsgi_app

        def with_headers(environ: Any, start_response: Any) -> Any:
            return application(
                environ,
                lambda status, headers, *error: start_response(status, headers + _security_headers(headers), *error),
            )

        self.wsgi.wsgi_app = with_headers


class SyncApiWorker(_LocalWorker, SyncWorker):
    """One request at a time."""

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        client.settimeout(_SYNC_STALL_S)
        try:
            client.recv(1, socket.MSG_PEEK)
        except OSError:  # opened in advance, say: gunicorn would log a traceback and linger for two seconds more
            client.close()
            return
        client = _ClientSocket.of(client, _SYNC_REQUEST_S)
        client.settimeout(_SYNC_STALL_S)
        super().handle(listener, client, addr)

    def handle_quit(self, sig: int, frame: Any) -> None:
        self.alive = False  # Ctrl-C is a warm shutdown, too


class ThreadedApiWorker(_LocalWorker, ThreadWorker):
    """A thread for each request; connections are kept alive."""

    wsgi: Api

    def handle(self, conn: TConn) -> Any:
        conn.sock = _ClientSocket.of(conn.sock, _REQUEST_S)
        # In the kernel: gunicorn takes a timeout of Python's off again before it writes.
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(CLIENT_STALL_S), 0))
        return super().handle(conn)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Requests that still wait when the grace is over get 503."""
        if self.alive and self.booted:  # while it still loads the model nobody waits, and there is no application
            timer = threading.Timer(self.wsgi.settings.grace_s, self.wsgi.mailbox.close)
            timer.daemon = True
            timer.start()
        super().handle_exit(sig, frame)

    def handle_quit(self, sig: int, frame: Any) -> None:
        self.handle_exit(sig, frame)  # Ctrl-C is a warm shutdown, too


def _security_headers(headers: Sequence[Header]) -> list[Header]:
    """What a server adds to these headers of a response."""
    return SECURITY_HEADERS[:1] if KEPT_BY_BROWSERS in headers else SECURITY_HEADERS
