"""A connection to a Redis by hiredis, over TCP, TLS or a unix socket: all that the queue needs of a client.

redis-py does it, too, and loads 60 modules of other uses for it: a fifth of a second of CPU, and 20 MB. So it is left
to the drills and to rq-dashboard (worker/queue/redis_py.py).
"""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlencode

import hiredis

from scheduler.urls import SENTINEL_PORT, host_and_port, split_url

if TYPE_CHECKING:
    import ssl

_PORT = 6379
_READ_BYTES = 65_536
_NOTHING = object()
# A sentinel that does not answer costs this much before the next is asked. Three fit into the patience of a request.
ASK_TIMEOUT_S = 0.5
_FALSE = ("0", "f", "false", "n", "no")  # as redis-py
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
    """To the Redis of a sound URL, or to the primary of the sentinels that it names. All that breaks it is an OSError.

    It belongs to one thread, but for `close`, which wakes a thread that reads.
    """

    def __init__(self, url: str, timeout_s: float, usual_port: int = _PORT) -> None:
        scheme, authority, path, options = split_url(url)
        login, _, self._hosts = authority.rpartition("@")  # '': a unix socket
        self._scheme, _, sentinel = scheme.partition("+")
        self._options = known = {name: unquote(value) for name, value in options}
        username, _, password = map(unquote, login.partition(":"))
        self.username, password = username or known.get("username", ""), password or known.get("password", "")
        self._login: Any = ("AUTH", *filter(None, [self.username]), password) if self.username or password else None
        names = path.strip("/").split("/") if self._hosts else []
        self._service = unquote(names.pop(0)) if sentinel else ""  # under which sentinels know the primary
        self._database = known.get("db") or "".join(names)
        self._path, self._timeout_s, self._usual_port = unquote(path), timeout_s, usual_port
        self.sock: socket.socket | None = None

    def connect(self) -> None:
        """Raises ResponseError, too, where Redis refuses the user, the password or the database."""
        self.close()
        self._reader = hiredis.Reader(protocolError=ConnectionError, replyError=ResponseError, notEnoughData=_NOTHING)
        try:
            self.sock = self._opened()
        except (OSError, ValueError) as error:  # the latter for what is no name of a host
            why = getattr(error, "strerror", None) or error
            raise ConnectionError(f"{self._hosts or self._path}: {why}") from error
        self._poll = select.poll()
        self._poll.register(self.sock, select.POLLIN)
        for command in filter(None, (self._login, self._database.strip("0") and ("SELECT", self._database))):
            self.call(*command)

    def _opened(self) -> socket.socket:
        if not self._hosts:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(self._timeout_s)
            with _closed_on_failure(sock):
                sock.connect(self._path)
            return sock
        host, port = self.primary() if self._service else host_and_port(unquote(self._hosts), self._usual_port)
        sock = socket.create_connection((host, port), self._timeout_s)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEPALIVE.items():
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
        if self._scheme == "rediss":
            with _closed_on_failure(sock):
                return _tls_of(self._options).wrap_socket(sock, server_hostname=host)
        return sock

    def primary(self) -> tuple[str, int]:
        """Where the sentinels say that it is. Raises ConnectionError."""
        about = {name.removeprefix("sentinel_"): quote(value) for name, value in self._options.items() if "_" in name}
        found: list[dict[bytes, bytes]] = []
        for host in self._hosts.split(","):  # with a login of their own, and our TLS
            sentinel = Line(f"{self._scheme}://{host}/?{urlencode(about)}", ASK_TIMEOUT_S, SENTINEL_PORT)
            with suppress(OSError, ResponseError), closing(sentinel):
                sentinel.connect()
                words = sentinel.call("SENTINEL", "MASTER", self._service)
                facts = dict(zip(words[::2], words[1::2], strict=True))
                if b"_down" not in facts.get(b"flags", b"_down"):
                    found.append(facts)
        if found:  # one that was cut off may name the primary of before
            newest = max(found, key=lambda facts: int(facts.get(b"config-epoch", 0)))
            return newest[b"ip"].decode(), int(newest[b"port"])
        reasons = "they elect one, or do not know that name, or cannot be reached"
        raise ConnectionError(f"no sentinel names a primary of {self._service!r}: {reasons}")

    def call(self, *command: Any) -> Any:
        """The reply to a single command. Raises ResponseError."""
        self.write(hiredis.pack_command(command))
        if isinstance(reply := self.read(), ResponseError):
            raise reply
        return reply

    def write(self, packed: bytes) -> None:
        self._open_socket().sendall(packed)

    def read(self) -> Any:
        """The next reply; a ResponseError is one."""
        while (reply := self._reader.gets()) is _NOTHING:
            self._feed()
        return reply

    def read_ready(self) -> list[Any]:
        """The replies that are whole; an event loop calls it where something has come."""
        if self._scheme == "rediss":
            self._feed_of_tls()
        else:
            self._feed()
        return list(iter(self._reader.gets, _NOTHING))

    def _feed_of_tls(self) -> None:
        """Of a record only a part may have come: an event loop must not wait for the rest."""
        import ssl

        sock = self._open_socket()
        sock.settimeout(0.0)
        try:
            self._feed()
            while self._num_pending():
                self._feed()
        except ssl.SSLWantReadError:
            pass
        finally:
            sock.settimeout(self._timeout_s)

    def _feed(self) -> None:
        data = self._open_socket().recv(_READ_BYTES)
        if not data:
            raise ConnectionError("Redis has closed the connection")
        self._reader.feed(data)

    def _num_pending(self) -> int:
        """Bytes that TLS has taken from the kernel, and nobody from TLS."""
        number: int = getattr(self.sock, "pending", int)()
        return number

    @property
    def descriptor(self) -> int:
        """The file that an event loop may watch while the line is connected."""
        return self._open_socket().fileno()

    def has_data(self, timeout_s: float) -> bool:
        return bool(self._num_pending() or self._poll.poll(timeout_s * 1e3))

    def close(self) -> None:
        sock, self.sock = self.sock, None
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _open_socket(self) -> socket.socket:
        if self.sock is None:
            raise ConnectionError("the connection is closed")
        return self.sock


@contextmanager
def _closed_on_failure(sock: socket.socket) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError):
        sock.close()
        raise


def _tls_of(options: Mapping[str, str]) -> ssl.SSLContext:
    """As redis-py reads the options. Raises OSError for a file that cannot be read."""
    import ssl  # seldom needed

    context = ssl.create_default_context()
    if (authorities := options.get("ssl_ca_certs")) or options.get("ssl_ca_path"):
        with _naming(options, "ssl_ca_certs", "ssl_ca_path"):
            context.load_verify_locations(authorities, options.get("ssl_ca_path"))
    asked = options.get("ssl_cert_reqs", "required")
    context.check_hostname = asked != "none" and options.get("ssl_check_hostname", "yes").lower() not in _FALSE
    context.verify_mode = ssl.VerifyMode[f"CERT_{asked.upper()}"]
    if certificate := options.get("ssl_certfile"):
        with _naming(options, "ssl_certfile", "ssl_keyfile"):
            context.load_cert_chain(certificate, options.get("ssl_keyfile"), options.get("ssl_password"))
    return context


@contextmanager
def _naming(options: Mapping[str, str], *names: str) -> Iterator[None]:
    """ssl itself names no file."""
    try:
        yield
    except OSError as error:
        files = ", ".join([f"{name}={options[name]}" for name in names if name in options])
        raise ConnectionError(f"{files}: {error.strerror}") from error
