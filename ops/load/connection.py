"""One HTTP/1.1 connection with at most one request on its way. It keeps the connection while the server does."""

from __future__ import annotations

import errno
import os
import selectors
import socket
import ssl
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from ops.observe.scrape import key_headers

_CHUNK_BYTES = 65_536
_PATIENCE_S = 10.0
_ANSWER_PATIENCE_S = 60.0
_NOTHING_YET = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete answer."""

    status: int
    body: bytes
    server_timing: bytes = b""  # the header as it came


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go."""

    host: str
    port: int
    head: bytes  # of every request, up to the value of Content-Length
    source: str = ""  # address to send from; empty: whichever the system takes
    is_tls: bool = False

    @classmethod
    def from_url(cls, url: str, source: str = "") -> Target:
        """Raises ValueError for anything but http[s]://host[:port][/]."""
        parts = urlsplit(url)
        is_tls = parts.scheme == "https"
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/") or parts.query:
            raise ValueError(f"{url!r} is no base URL; it must look like http://127.0.0.1:8000")
        head = f"POST /correct HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\nContent-Length: "
        port = parts.port or (443 if is_tls else 80)
        return cls(parts.hostname, port, head.encode("ascii"), source, is_tls)

    def with_key(self, api_key: str) -> Target:
        """Return the target of a client that has this API key; '' none."""
        lines = "".join([f"{name}: {text}\r\n" for name, text in key_headers(api_key).items()])
        return replace(self, head=self.head.replace(b"Content-Type:", lines.encode("latin-1") + b"Content-Type:"))

    def check(self) -> None:
        """Connect, wait for it, and disconnect. Raises OSError."""
        with socket.create_connection((self.host, self.port), _PATIENCE_S) as plain:
            if self.is_tls:
                _tls().wrap_socket(plain, server_hostname=self.host).close()

    def connect(self) -> socket.socket:
        """Begin to connect; the first write may find that it cannot be done. Raises OSError."""
        family, address = _address(self.host, self.port)
        connection = socket.socket(family)
        try:
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.source:
                connection.bind((self.source, 0))
            if (error := connection.connect_ex(address)) not in (0, errno.EINPROGRESS):
                raise OSError(error, os.strerror(error))
        except OSError:
            connection.close()
            raise
        return connection

    def secured(self, connection: socket.socket) -> ssl.SSLSocket | None:
        """Begin TLS on a connection; None while it is not made yet. Raises OSError where it cannot be made."""
        if error := connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise OSError(error, os.strerror(error))
        try:
            connection.getpeername()
        except OSError:
            return None
        return _tls().wrap_socket(connection, server_hostname=self.host, do_handshake_on_connect=False)


@cache
def _address(host: str, port: int) -> tuple[int, Any]:
    """Look a name up once for all connections; of several addresses the first that answers. Raises OSError."""
    (family, *_, address), *others = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    if not others:
        return family, address
    with socket.create_connection((host, port), _PATIENCE_S) as connection:
        return connection.family, connection.getpeername()


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()  # SSL_CERT_FILE names further authorities


class Connection:
    """Connects with the first request, and again where the server has closed it since the last answer.

    It never waits: after `send` and `receive`, `events` says what to wait for. `ask` and `flush` wait.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._socket: socket.socket | None = None
        self._received = bytearray()
        self._unsent = b""
        self.events = selectors.EVENT_READ
        self.is_over = False  # the server closes it after this answer: it is to be closed here, too

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def has_sent(self) -> bool:
        """Whether the last request got out."""
        return not self._unsent

    @property
    def has_begun(self) -> bool:
        """Whether a byte of the answer to the last request is there: who sends it again may be answered twice."""
        return bool(self._received)

    def send(self, body: bytes, more_headers: bytes = b"") -> None:
        """`more_headers`: lines, each with its end. Raises OSError."""
        self._received.clear()
        self._unsent = b"%s%d\r\n%s\r\n%s" % (self._target.head, len(body), more_headers, body)
        if self._is_closed_by_server():
            self.close()
        if self._socket is None:
            self._socket = self._target.connect()
        self._go_on()

    def _go_on(self) -> None:
        """Send what can be sent now."""
        self.events = selectors.EVENT_WRITE
        try:
            if self._target.is_tls and not isinstance(self._socket, ssl.SSLSocket):
                secured = self._target.secured(self._socket)
                if secured is None:
                    return
                self._socket = secured
            if isinstance(self._socket, ssl.SSLSocket):
                self._socket.do_handshake()  # nothing, once it is done
            self._unsent = self._unsent[self._socket.send(self._unsent) :]
        except (BlockingIOError, ssl.SSLWantWriteError):
            return
        except ssl.SSLWantReadError:
            self.events = selectors.EVENT_READ
            return
        if not self._unsent:
            self.events = selectors.EVENT_READ

    def _is_closed_by_server(self) -> bool:
        """Servers close what was idle for long. A request sent into it would be a failure of ours, not of theirs."""
        if self._socket is None:
            return False
        try:
            self._socket.recv(1)
        except _NOTHING_YET:
            return False
        except OSError:
            return True
        return True  # its end, or bytes nobody asked for

    def receive(self) -> Reply | None:
        """Go on with what can be done; the reply once it is complete. Raises OSError where it breaks before."""
        if self._unsent:
            self._go_on()
            return None
        try:
            while chunk := self._socket.recv(_CHUNK_BYTES):
                self._received += chunk
                if not (isinstance(self._socket, ssl.SSLSocket) and self._socket.pending()):
                    break
        except _NOTHING_YET:
            return None
        if not chunk:
            raise ConnectionResetError("closed before the answer was complete")
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator:
            return None
        answer = _read_head(head)
        whole = _joined(body) if answer.length is None else bytes(body) if len(body) >= answer.length else None
        if whole is None:
            return None
        self.is_over = answer.is_last
        return Reply(answer.status, whole, answer.server_timing)

    def ask(self, body: bytes, more_headers: bytes = b"") -> Reply:
        """Send and wait. Raises OSError."""
        self.send(body, more_headers)
        while (reply := self.receive()) is None:
            self._wait()
        return reply

    def flush(self) -> None:
        """Wait until the request got out. Raises OSError."""
        while self._unsent:
            self._wait()
            self._go_on()

    def _wait(self) -> None:
        with selectors.PollSelector() as selector:
            selector.register(self, self.events)
            if not selector.select(_ANSWER_PATIENCE_S):
                raise TimeoutError

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self.is_over = False


@dataclass(frozen=True, slots=True)
class _Head:
    """What the first lines of an answer say."""

    status: int
    length: int | None  # None: it comes in chunks
    is_last: bool  # the server closes the connection
    server_timing: bytes


def _read_head(head: bytearray) -> _Head:
    first, *lines = head.split(b"\r\n")
    length, is_chunked, is_last, server_timing = None, False, False, b""
    try:
        status = int(first.split(b" ", 2)[1])
        for line in lines:
            name, _, value = line.partition(b":")
            name = name.lower()
            if name == b"content-length":
                length = int(value)
            elif name == b"transfer-encoding":
                is_chunked = value.strip().lower() == b"chunked"
            elif name == b"connection":
                is_last = value.strip().lower() == b"close"
            elif name == b"server-timing":
                server_timing = bytes(value)
    except (ValueError, IndexError):
        raise ConnectionError("the answer is no HTTP") from None
    if length is None and not is_chunked:
        raise ConnectionError("the answer has neither a Content-Length nor chunks")
    return _Head(status, None if is_chunked else length, is_last, server_timing)


def _joined(body: bytearray) -> bytes | None:
    """Join the chunks of an answer; None while the last is not there. Raises ConnectionError."""
    parts, at = [], 0
    while (end := body.find(b"\r\n", at)) >= 0:
        try:
            size = int(body[at:end].partition(b";")[0], 16)
        except ValueError:
            raise ConnectionError("a chunk of the answer has no length") from None
        if size == 0:  # a trailer may follow, and an empty line
            return b"".join(parts) if body.find(b"\r\n\r\n", end) >= 0 else None
        at = end + 2 + size + 2
        parts.append(body[end + 2 : at - 2])
    return None
