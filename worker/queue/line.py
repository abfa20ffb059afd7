"""A connection to a Redis over TCP or a unix socket, in RESP2 by hiredis: all that the queue needs of a client.

redis-py does it, too, and loads 60 modules of other uses for it: a fifth of a second of CPU, and 20 MB. So it is left
to what needs it (worker/queue/redis_py.py): TLS, sentinels, and tools that have a client anyway.
"""

from __future__ import annotations

import select
import socket
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

import hiredis

from scheduler.urls import host_and_port, split_url

_PORT = 6379
_READ_BYTES = 65_536
_NOTHING = object()
# A path that died without a word is noticed within 25 s, not after the two hours of the kernel's default.
KEEPALIVE = {
    getattr(socket, name): value
    for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
    if hasattr(socket, name)
}


class ResponseError(Exception):
    """Redis refused a command; its first word says why."""

    def is_a(self, *codes: str) -> bool:
        return str(self).startswith(codes)


class Line:
    """To the Redis of a sound URL without TLS and sentinels. All that breaks it is an OSError.

    It belongs to one thread, but for `disconnect`, which wakes a thread that reads.
    """

    def __init__(self, url: str, timeout_s: float) -> None:
        _, authority, path, options = split_url(url)
        login, _, host = authority.rpartition("@")
        known = {name: unquote(value) for name, value in options}
        username, _, password = map(unquote, login.partition(":"))
        username, password = username or known.get("username", ""), password or known.get("password", "")
        self._login: Any = ("AUTH", *filter(None, [username]), password) if username or password else None
        if host:
            self._address: Any = host_and_port(unquote(host), _PORT)
            self._database = known.get("db") or path.strip("/")
        else:
            self._address, self._database = unquote(path), known.get("db", "")
        self._timeout_s = timeout_s
        self.sock: socket.socket | None = None

    def connect(self) -> None:
        """Raises ResponseError, too, where Redis refuses the user, the password or the database."""
        self.disconnect()
        self._reader = hiredis.Reader(protocolError=ConnectionError, replyError=ResponseError, notEnoughData=_NOTHING)
        try:
            self.sock = self._opened()
        except OSError as error:
            raise ConnectionError(f"{self._address}: {error.strerror or error}") from error
        self._poll = select.poll()
        self._poll.register(self.sock, select.POLLIN)
        choose: Any = ("SELECT", self._database) if self._database.strip("0") else None
        for command in (self._login, choose):
            if command is not None:
                self.send(hiredis.pack_command(command))
                if isinstance(refusal := self.read(), ResponseError):
                    raise refusal

    def _opened(self) -> socket.socket:
        if isinstance(self._address, str):
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(self._timeout_s)
            try:
                sock.connect(self._address)
            except OSError:
                sock.close()
                raise
            return sock
        sock = socket.create_connection(self._address, self._timeout_s)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEPALIVE.items():
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
        return sock

    def send(self, packed: bytes) -> None:
        self._open_socket().sendall(packed)

    def read(self) -> Any:
        """The next reply; a ResponseError is one."""
        while (reply := self._reader.gets()) is _NOTHING:
            self._feed()
        return reply

    def read_ready(self) -> list[Any]:
        """The replies that are whole; an event loop calls it where something has come."""
        self._feed()
        return list(iter(self._reader.gets, _NOTHING))

    def _feed(self) -> None:
        data = self._open_socket().recv(_READ_BYTES)
        if not data:
            raise ConnectionError("Redis has closed the connection")
        self._reader.feed(data)

    @property
    def descriptor(self) -> int:
        return self._open_socket().fileno()

    def has_data(self, timeout_s: float) -> bool:
        return bool(self._poll.poll(timeout_s * 1e3))

    def disconnect(self) -> None:
        sock, self.sock = self.sock, None
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _open_socket(self) -> socket.socket:
        if self.sock is None:
            raise ConnectionError("the connection is closed")
        return self.sock
