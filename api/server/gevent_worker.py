"""The gunicorn worker that serves the API: gevent, with a prompt warm shutdown and a bound on every wait for a client.

It differs from gunicorn's own gevent worker in four ways. A shutdown ends when the last answer is sent, not after whole
seconds and idle keep-alive connections; readiness goes off first, and the port stays open to say so meanwhile. Requests
that still wait when the grace is over get 503. A broken request line or header gets a problem document instead of an
HTML page. A response leaves in one write. Connections come from the acceptor (api/server/probe_acceptor.py).
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import time
from collections import deque
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import gevent
from gevent.monkey import get_original
from gunicorn import SERVER
from gunicorn.http import wsgi
from gunicorn.util import http_date
from gunicorn.workers.base_async import AsyncWorker
from gunicorn.workers.ggevent import GeventWorker

import worker.mailbox.waiters  # noqa: F401  before gevent patches: its lock is the kernel's
from api.http.app import Api
from api.http.replies import KEPT_BY_BROWSERS, SECURITY_HEADERS
from api.http.request_input import sends_no_more
from api.server.client_socket import MAX_UNREAD_BYTES, ClientSocket, unread_bytes
from api.server.open_files import RETRY_S, Places, num_connections
from api.server.probe_acceptor import ProbeAcceptor
from api.server.raw_replies import AnswersUnreadable, refusal
from api.service.readiness import Readiness
from api.telemetry.line_writer import STDERR
from scheduler.errors import QueueFull, RateLimited, ServingError
from worker.mailbox.admission import shutting_down

LAST_ANSWERS_S = 1.0  # for the 503s at the end of the grace to be sent
LINGER_S = 0.5  # for clients that send on a connection kept alive and do not know of the shutdown yet
_LAST_CANCELS_S = 0.2  # for the cancels of the requests that got a 503 to reach Redis
_LAST_REPORT_S = 0.5  # for two status requests, which report the counts; for the last lines of the log, too
_CHECK_SIGNAL_EVERY_S = 0.1  # it arrives outside the event loop
_STATUS_TIMEOUT_S = 0.5

_NOSNIFF, _NO_STORE = (f"{name}: {value}\r\n" for name, value in SECURITY_HEADERS)
logger = logging.getLogger(__name__)
_http_date = lru_cache(maxsize=1)(http_date)  # the same for all responses of a second


def _run_or_end(helper: Callable[[], None]) -> None:
    """A process without one of its helpers would serve nobody and not say so: it ends, and gunicorn starts another."""
    try:
        helper()
    except BaseException:
        logger.critical("a helper died, and this process ends", extra={"helper": helper.__qualname__}, exc_info=True)
        STDERR.flush()
        os._exit(os.EX_SOFTWARE)


class OneWriteResponse(wsgi.Response):
    """gunicorn's response, whose head leaves in one write with the first bytes of the body: one packet and one system
    call where gunicorn takes two. gunicorn's checks of the headers stay."""

    headers_sent: bool
    _unsent = b""

    def should_close(self) -> bool:
        most = 0 if self.sock.is_asked else MAX_UNREAD_BYTES  # 0: nobody knows whether the body comes next
        # A list (RFC 9110, 7.6.1), of which gunicorn knows `close` alone: Perl's LWP sends `TE, close`.
        closes = any(name == "CONNECTION" and "close" in value.lower() for name, value in self.req.headers)
        return closes or bool(super().should_close()) or unread_bytes(self.req.body) > most

    def default_headers(self) -> list[str]:
        connection = "close" if self.should_close() else "keep-alive"
        date = _http_date(int(time.time()))
        kept = "" if KEPT_BY_BROWSERS in self.headers else _NO_STORE
        head = f"HTTP/1.{self.req.version[1]} {self.status}\r\nServer: {SERVER}\r\n{_NOSNIFF}{kept}Date: {date}\r\n"
        return [head, f"Connection: {connection}\r\n", "Transfer-Encoding: chunked\r\n" if self.chunked else ""]

    def send_headers(self) -> None:
        """Keeps the head back until there is a body, or the end of the response."""
        if not self.headers_sent:
            lines = [*self.default_headers(), *[f"{name}: {value}\r\n" for name, value in self.headers], "\r\n"]
            self._unsent = "".join(lines).encode("latin-1")
            self.headers_sent = True

    def _emit_body(self, data: bytes) -> None:
        if self.chunked:
            data = b"%X\r\n%b\r\n" % (len(data), data)
        self._flush(data)

    def close(self) -> None:
        self.send_headers()
        if self.chunked:
            self._flush(b"0\r\n\r\n")
        elif self._unsent:
            self._flush(b"")

    def _flush(self, data: bytes) -> None:
        data, self._unsent = self._unsent + data, b""
        sent = self.sock.send(data)  # gevent's sendall asks the kernel for the size of its buffer first
        if sent < len(data):
            self.sock.sendall(data[sent:])


# A client that sends nothing has left its connection idle, as it may. To gunicorn the TimeoutError of its socket is an
# error with a traceback for each, and a thousand of them are seconds of work.
_ENDS_QUIETLY = contextlib.suppress(TimeoutError)


class ApiWorker(AnswersUnreadable, GeventWorker):
    """One process; every connection is a greenlet."""

    wsgi: Api
    num_in_flight = 0

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        try:
            AsyncWorker.handle(self, listener, client, addr)  # GeventWorker's own only takes the timeout off
        finally:
            self._places.leave(addr[0])

    def timeout_ctx(self) -> contextlib.suppress:
        return _ENDS_QUIETLY  # ClientSocket bounds the wait

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        super().handle_error(req, client, addr, exc)
        client.linger()

    def handle_request(self, listener_name: Any, req: Any, sock: ClientSocket, addr: Any) -> None:
        self.num_in_flight += 1
        sock.expect_body(req._expected_100_continue, unread_bytes(req.body))
        req._expected_100_continue = False  # gunicorn would say 100 before anything has been checked
        client = None
        try:
            if self._places.are_many and sends_no_more(sock):
                # In an overload most of these have left, and answers to nobody would delay those to clients that wait.
                raise QueueFull("This replica is busy, and your side of the connection is closed; try again.", RETRY_S)
            client = self._places.enter(addr[0], req.headers)
            may_go_on = self._respond(listener_name, req, sock, addr)
        except (QueueFull, RateLimited) as error:
            sock.sendall(refusal(self.wsgi.recorder, error, req.path.encode()))
            may_go_on = False
        finally:
            self._places.exit(client)
            self.num_in_flight -= 1
        num_unread = unread_bytes(req.body)
        if not may_go_on:
            if num_unread:
                sock.linger()
            raise StopIteration
        sock.expect_head(int(num_unread))

    def _respond(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> bool:
        """Does what gunicorn's own does, but for hooks, the access log, files and a bound on requests.

        Returns whether the connection stays open.
        """
        response, environ = wsgi.create(req, sock, addr, listener_name, self.cfg, OneWriteResponse)
        environ["wsgi.multithread"] = True
        if not self.alive or self._places.are_scarce:
            response.force_close()
        body: Any = ()
        try:
            body = self.wsgi(environ, response.start_response)
            for part in body:
                response.write(part)
            response.close()
        except OSError:
            raise  # the client left
        except Exception:
            if not response.headers_sent:
                raise
            self.log.exception("a response broke off")  # a second status line would corrupt what is sent
            raise StopIteration from None
        finally:
            if hasattr(body, "close"):
                body.close()
        return not response.should_close()

    def handle_quit(self, sig: int, frame: Any) -> None:
        self.alive = False  # Ctrl-C is a warm shutdown, too

    def run(self) -> None:
        # Imported here: redis imported before gevent patches would keep the blocking socket module.
        from worker.mailbox.connection import Address
        from worker.mailbox.status_client import StatusClient

        gc.collect()
        gc.freeze()  # the tables of the grammar stay: a full collection that looks through them stops all for 50 ms
        gc.set_threshold(10_000)  # requests leave no cycles: at 700 what they hold while they wait is looked through
        settings, recorder, mailbox = self.wsgi.settings, self.wsgi.recorder, self.wsgi.mailbox
        told = recorder.tallies.totals, self.wsgi.reports
        client = StatusClient(Address(settings.redis_url, _STATUS_TIMEOUT_S), *told)
        num_allowed = num_connections(self.worker_connections)
        max_idle = num_allowed // 4  # that have sent nothing yet
        self._places = Places(num_allowed - max_idle, settings.trusted_proxies)
        self._readiness = self.wsgi.readiness = Readiness(
            lambda: mailbox.check_hearing(client.status()), lambda: self._places.is_full
        )
        acceptor = self._acceptor(max_idle)
        start_thread = get_original("_thread", "start_new_thread")  # a greenlet would wait for its turn behind others
        start_thread(_run_or_end, (self._readiness.watch,))
        # Before anybody is accepted: else POST /correct would be answered while /readyz still says 503.
        self._wait_while(lambda: not self._readiness.has_asked, _STATUS_TIMEOUT_S)
        start_thread(_run_or_end, (acceptor.run,))
        self._serve_until_stopped()
        self._stop(acceptor, settings.grace_s)
        client.report_every_s = 0.0  # what was counted until now goes out, too
        stopped_s = time.monotonic()
        self._wait_while(lambda: self._readiness.asked_s < stopped_s or STDERR.has_lines, _LAST_REPORT_S)
        # Nothing is left to do. An orderly end of the interpreter would take gevent's loop away from under the threads.
        os._exit(0)

    def _stop(self, acceptor: ProbeAcceptor, grace_s: float) -> None:
        """Readiness goes off, requests that wait are answered, and after the grace the rest gets 503."""
        self._readiness.is_stopping = True
        self._wait_while(lambda: self._places.num_taken, min(LINGER_S, grace_s))
        self._wait_for_answers(grace_s)
        acceptor.close()
        for listener in self.sockets:
            listener.close()
        self._wait_for_answers(LAST_ANSWERS_S)  # to requests that came at the last moment
        has_waiters = self.num_in_flight > 0
        self.wsgi.mailbox.close()
        self._wait_for_answers(LAST_ANSWERS_S)
        if has_waiters:
            gevent.sleep(_LAST_CANCELS_S)

    def _acceptor(self, max_idle: int) -> ProbeAcceptor:
        self._arrivals: deque[tuple[int, Any]] = deque()
        self._wake_up = gevent.get_hub().loop.async_()  # the one thing of a loop that another thread may use
        self._wake_up.start(self._take_arrivals)  # before the acceptor runs: nobody would hear its first call
        return ProbeAcceptor(self.sockets, self._readiness, self._admit, max_idle, self.wsgi.settings.keep_alive_s)

    def _admit(self, descriptor: int, address: Any) -> Callable[[bytes], bytes] | None:
        """Take a connection, or return its refusal; called by the acceptor's thread."""
        try:
            if self._readiness.is_stopping:
                raise shutting_down()
            self._places.take(address[0])
        except ServingError as error:
            return partial(refusal, self.wsgi.recorder, error)
        self._arrivals.append((descriptor, address))
        self._wake_up.send()
        return None

    def _take_arrivals(self) -> None:
        """Spawn a greenlet for each connection that was admitted, called by the event loop itself."""
        while self._arrivals:
            descriptor, address = self._arrivals.popleft()
            try:
                settings = self.wsgi.settings
                client = ClientSocket(
                    fileno=descriptor, max_body_bytes=settings.max_body_bytes, keep_alive_s=settings.keep_alive_s
                )
                gevent.spawn(self.handle, self.sockets[0], client, address)
            except Exception:  # one connection must not take the places of all others with it
                self._places.leave(address[0])
                with contextlib.suppress(OSError):
                    os.close(descriptor)
                self.log.exception("a connection could not be taken")

    def _serve_until_stopped(self) -> None:
        due_s = time.monotonic()
        while self.alive:
            self._readiness.last_iteration_s = now = time.monotonic()
            self.wsgi.recorder.tallies.note_tick(max(0.0, now - due_s))
            due_s = now + _CHECK_SIGNAL_EVERY_S
            self.notify()
            gevent.sleep(_CHECK_SIGNAL_EVERY_S)

    def _wait_for_answers(self, patience_s: float) -> None:
        gevent.sleep(0)  # for connections that are taken and have not begun
        self._wait_while(lambda: self.num_in_flight or self._arrivals, patience_s)

    def _wait_while(self, is_needed: Callable[[], Any], patience_s: float) -> None:
        deadline = time.monotonic() + patience_s
        while is_needed() and time.monotonic() < deadline:
            self.notify()
            gevent.sleep(0.02)
