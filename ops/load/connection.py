"""One HTTP/1.1 connection with at most one request on its way. It keeps the connection while the server does."""

from __future__ import annotations

import socket
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from ops.observe.scrape import key_headers

_CHUNK_BYTES = 65_536
_PATIENCE_S = 10.0  # to connect, or to get a request out


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

    @classmethod
    def from_url(cls, url: str, source: str = "") -> Target:
        """Raises ValueError for anything but http://host[:port][/]."""
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname or parts.path not in ("", "/") or parts.query:
            raise ValueError(f"{url!r} is no base URL; it must look like http://127.0.0.1:8000")
        head = f"POST /correct HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\nContent-Length: "
        return cls(parts.hostname, parts.port or 80, head.encode("ascii"), source)

    def with_key(self, api_key: str) -> Target:
        """Return the target of a client that has this API key; '' none."""
        lines = "".join([f"{name}: {text}\r\n" for name, text in key_headers(api_key).items()])
        return replace(self, head=self.head.replace(b"Content-Type:", lines.encode("latin-1") + b"Content-Type:"))

    def connect(self) -> socket.socket:
        """Raises OSError."""
        source = (self.source, 0) if self.source else None
        return socket.create_connection((self.host, self.port), _PATIENCE_S, source)


class Connection:
    """Connects with the first request, and again where the server has closed it since the last answer."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._socket: socket.socket | None = None
        self._received = bytearray()
        self.has_sent = False  # the last request got out
        self.is_over = False  # the server closes it after this answer: it is to be closed here, too

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def has_begun(self) -> bool:
        """Whether a byte of the answer to the last request is there: who sends it again may be answered twice."""
        return bool(self._received)

    def send(self, body: bytes, more_headers: bytes = b"") -> None:
        """`more_headers`: lines, each with its end. Raises OSError."""
        self._received.clear()
        self.has_sent = False
        if self._is_closed_by_server():
            self.close()
        if self._socket is None:
            self._socket = self._target.connect()
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(b"%s%d\r\n%s\r\n%s" % (self._target.head, len(body), more_headers, body))
        self.has_sent = True

    def _is_closed_by_server(self) -> bool:
        """Servers close what was idle for long. A request sent into it would be a failure of ours, not of theirs."""
        if self._socket is None:
            return False
        self._socket.settimeout(0.0)  # MSG_DONTWAIT alone does not do it: Python waits for bytes by itself
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self._socket.settimeout(_PATIENCE_S)
        return True  # its end, or bytes nobody asked for

    def receive(self) -> Reply | None:
        """Read what is there; the reply once it is complete. Raises OSError where it breaks before, or is no HTTP."""
        chunk = self._socket.recv(_CHUNK_BYTES)
        if not chunk:
            raise ConnectionResetError("closed before the answer was complete")
        self._received += chunk
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator:
            return None
        answer = _read_head(head)
        if len(body) < answer.length:
            return None
        self.is_over = answer.is_last
        return Reply(answer.status, bytes(body), answer.server_timing)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self.is_over = False


@dataclass(frozen=True, slots=True)
class _Head:
    """What the first lines of an answer say."""

    status: int
    length: int
    is_last: bool  # the server closes the connection
    server_timing: bytes


def _read_head(head: bytearray) -> _Head:
    first, *lines = head.split(b"\r\n")
    length, is_last, server_timing = None, False, b""
    try:
        status = int(first.split(b" ", 2)[1])
        for line in lines:
            name, _, value = line.partition(b":")
            name = name.lower()
            if name == b"content-length":
                length = int(value)
            elif name == b"connection":
                is_last = value.strip().lower() == b"close"
            elif name == b"server-timing":
                server_timing = bytes(value)
    except (ValueError, IndexError):
        raise ConnectionError("the answer is no HTTP") from None
    if length is None:
        raise ConnectionError("the answer has no Content-Length")
    return _Head(status, length, is_last, server_timing)
