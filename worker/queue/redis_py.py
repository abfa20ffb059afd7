"""redis-py for tools: commands that people type, rq-dashboard, drills. What serves does without (line.py)."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import redis
from redis import Connection, ConnectionPool, Redis, SSLConnection, exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry

from scheduler.urls import SENTINEL_OPTIONS, is_sentinel_url, split_url
from worker.queue.line import KEEPALIVE, Line, ResponseError

OLDEST_CLIENT = (8, 1)  # of redis-py, as in pyproject.toml
# redis-py keeps the first word of a refusal as a class.
_CODES = {
    exceptions.AuthenticationError: "NOAUTH", exceptions.NoPermissionError: "NOPERM",
    exceptions.NoScriptError: "NOSCRIPT", exceptions.ReadOnlyError: "READONLY", exceptions.OutOfMemoryError: "OOM",
}  # fmt: skip


def client_fault() -> str:
    """Why redis-py cannot be used: another package in the environment may have brought its own."""
    if tuple(int(part) for part in redis.__version__.split(".")[:2]) >= OLDEST_CLIENT:
        return ""
    wanted = ".".join(map(str, OLDEST_CLIENT))
    return (
        f"redis-py {redis.__version__} is installed, and {wanted} is needed: give miniserve an environment of its own"
    )


def connect(url: str, socket_timeout_s: float = 2.0) -> Redis:
    """A client that opens nothing yet.

    The pool takes tickets of TLS 1.3 for data and gives up a connection that has read nothing yet: half of the first
    commands failed. The handshake of RESP3 reads them.
    """
    options: dict[str, Any] = {
        "protocol": 3,
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": socket_timeout_s,
        "socket_connect_timeout": socket_timeout_s,
        "driver_info": None,  # a user with few rights may not report its library's name
    }
    if not url.startswith("unix://"):
        options |= {"socket_keepalive": True, "socket_keepalive_options": KEEPALIVE}
    return _of_sentinels(url, options) if is_sentinel_url(url) else Redis.from_url(url, **options)


def _of_sentinels(url: str, options: dict[str, Any]) -> Redis:
    """Each connection asks them where the primary is."""
    scheme, authority, path, pairs = split_url(url)
    line = Line(url, options["socket_timeout"])
    kind: type[Connection] = SSLConnection if scheme.startswith("rediss") else Connection

    class ToThePrimary(kind):  # type: ignore[misc, valid-type]
        def _connect(self) -> object:
            self.host, self.port = line.primary()
            return super()._connect()

    login, at, _ = authority.rpartition("@")
    query = urlencode([pair for pair in pairs if pair[0] not in SENTINEL_OPTIONS])
    plain = f"{scheme.removesuffix('+sentinel')}://{login}{at}primary/{''.join(path.split('/')[2:])}?{query}"
    return Redis.from_pool(ConnectionPool.from_url(plain, connection_class=ToThePrimary, **options))


def in_our_words(error: Exception) -> Exception:
    """What a line would raise or return where redis-py has raised this."""
    if code := next((code for kind, code in _CODES.items() if isinstance(error, kind)), ""):
        return ResponseError(f"{code} {error}")
    if isinstance(error, exceptions.ResponseError):
        return ResponseError(str(error))
    return ConnectionError(str(error))
