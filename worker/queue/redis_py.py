"""redis-py in the place of a plain line: for TLS, for sentinels, and for who has a client of it anyway."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis
from redis import Redis, exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry

from scheduler.urls import is_sentinel_url
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
    """A client for the pool of redis-py, and for bare connections; opens nothing yet.

    The pool takes tickets of TLS 1.3 for data and gives up a connection that has read nothing yet: half of the first
    commands failed. The handshake of RESP3 reads them.
    """
    options = {
        "protocol": 3,
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": socket_timeout_s,  # more than any blocking call: MAX_BLOCK_S
        "socket_connect_timeout": socket_timeout_s,
        "driver_info": None,  # a user with few rights may not report its library's name
    }
    if url.startswith("unix://"):
        return Redis.from_url(url, **options)
    options |= {"socket_keepalive": True, "socket_keepalive_options": KEEPALIVE}
    if is_sentinel_url(url):
        from worker.queue.sentinel import client_of_the_primary  # seldom needed

        return client_of_the_primary(url, options)
    return Redis.from_url(url, **options)


class ClientLine(Line):
    """redis-py's bare connection, with the options of a client's; RESP2 spares it the handshake."""

    def __init__(self, client: Redis, protocol: int) -> None:
        pool = client.connection_pool
        self._connection = pool.connection_class(**(pool.connection_kwargs | {"protocol": protocol}))

    def connect(self) -> None:
        with _in_our_words():
            self._connection.connect()
        self.sock = getattr(self._connection, "_sock", None)

    def send(self, packed: bytes) -> None:
        with _in_our_words():
            self._connection.send_packed_command([packed], check_health=False)

    def read(self) -> Any:
        try:
            with _in_our_words():
                return self._connection.read_response(push_request=True)
        except ResponseError as error:
            return error

    def read_ready(self) -> list[Any]:
        replies = []
        while self.has_data(0.0):  # of TLS something may have come, and no reply
            replies.append(self.read())
        return replies

    def has_data(self, timeout_s: float) -> bool:
        with _in_our_words():
            return self._connection.can_read(timeout_s)

    def disconnect(self) -> None:
        self._connection.disconnect()


@contextmanager
def _in_our_words() -> Iterator[None]:
    try:
        yield
    except exceptions.RedisError as error:
        raise in_our_words(error) from error


def in_our_words(error: Exception) -> Exception:
    """What a line would raise or return where redis-py has raised this."""
    if code := next((code for kind, code in _CODES.items() if isinstance(error, kind)), ""):
        return ResponseError(f"{code} {error}")
    if isinstance(error, exceptions.ResponseError):
        return ResponseError(str(error))
    return ConnectionError(str(error))
