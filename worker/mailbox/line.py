"""One connection to Redis that never retries, and our Lua on the other side of it.

A silent retry would hide a lost reply, and with it the requests that the reply carried: here a broken connection is
always an error that the caller sees. Several commands go out as one packet and their replies are read in order.
A line belongs to one thread.
"""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from redis import Redis, ResponseError
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, ReadOnlyError, RedisError
from redis.retry import Retry

from scheduler.redis_url import is_sentinel_url
from worker.mailbox.sentinels import client_of_the_primary

SCRIPTS = (
    "enqueue", "cancel", "check", "find", "status", "observe", "trace",  # asked by the API
    "drain", "finish", "tell", "resync", "leave", "give_back", "beat", "reconcile",  # asked by workers
    "report", "keep",  # asked by both
    "revive", "drop",  # asked by operators
)  # fmt: skip
Command = tuple[Any, ...]
# A path that died without a word is noticed within 25 s, not after the two hours of the kernel's default.
_KEEPALIVE = {
    getattr(socket, name): value
    for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
    if hasattr(socket, name)
}


class LineDown(Exception):
    """The connection broke, or Redis cannot work now; whether the commands ran is not known."""


def connect(url: str, socket_timeout_s: float = 2.0) -> Redis:
    """A client for lines and subscriptions; opens nothing yet. RESP2 spares the handshake, and nothing here needs 3."""
    options = {
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": socket_timeout_s,  # more than any blocking call: MAX_BLOCK_S
        "socket_connect_timeout": socket_timeout_s,
        "driver_info": None,  # a user with few rights may not tell its library's name
    }
    if url.startswith("unix://"):
        return Redis.from_url(url, **options)
    options |= {"socket_keepalive": True, "socket_keepalive_options": _KEEPALIVE}
    return client_of_the_primary(url, options) if is_sentinel_url(url) else Redis.from_url(url, **options)


@cache
def script_sources() -> Mapping[str, str]:
    """Every script with the common part in front of it."""
    folder = resources.files("worker.mailbox") / "lua"
    common = (folder / "common.lua").read_text()
    return {name: common + (folder / f"{name}.lua").read_text() for name in SCRIPTS}


@cache
def _digests() -> Mapping[str, str]:
    return {name: hashlib.sha1(source.encode()).hexdigest() for name, source in script_sources().items()}


def script(name: str, *arguments: Any) -> Command:
    """The command that runs one of our scripts."""
    return ("EVALSHA", _digests()[name], 0, *arguments)


class Line:
    """Connects when first asked and again after every failure."""

    def __init__(self, client: Redis) -> None:
        pool = client.connection_pool
        self._connection = pool.connection_class(**pool.connection_kwargs)
        self._is_open = False
        self.run_id = ""  # of the Redis process behind the connection; another one may have lost the last second

    def ask(self, *commands: Command) -> list[Any]:
        """The replies in order; where Redis refused a command, its ResponseError is the reply. Raises LineDown."""
        try:
            if not self._is_open:
                self._open()
            replies = self._exchange(commands)
        except (RedisError, OSError) as error:
            self.close()
            raise LineDown(str(error)) from error
        for reply in replies:
            if isinstance(reply, NoScriptError):  # SCRIPT FLUSH: load them again on the next call
                self.close()
                raise LineDown("Redis has forgotten our scripts")
            if _is_demoted(reply):  # the next call finds the new primary
                self.close()
                raise LineDown(f"this Redis is not the primary, or not any more: {reply}")
        return replies

    def close(self) -> None:
        self._is_open = False
        self._connection.disconnect()

    def _open(self) -> None:
        self._connection.disconnect()
        self._connection.connect()
        loads = [("SCRIPT", "LOAD", source) for source in script_sources().values()]
        *loaded, facts = self._exchange([*loads, ("INFO",)])
        for reply in loaded:
            if isinstance(reply, ResponseError):
                raise reply
        if _fact(facts, b"role") == "slave":  # it would answer all that reads, with what was true a moment ago
            raise RedisError("this Redis is a replica")
        # Where INFO is forbidden or unknown all Redis processes look alike, and a lost request counts as deleted.
        self.run_id = _fact(facts, b"run_id") or "unknown"
        self._is_open = True

    def _exchange(self, commands: Any) -> list[Any]:
        connection = self._connection
        connection.send_packed_command(connection.pack_commands(commands), check_health=False)
        return [self._read() for _ in commands]

    def _read(self) -> Any:
        try:
            return self._connection.read_response()
        except ResponseError as error:
            return error


def _fact(facts: bytes | ResponseError, name: bytes) -> str:
    """One line of INFO; empty where it does not say."""
    if not isinstance(facts, ResponseError):
        for row in facts.split(b"\r\n"):
            if row.startswith(name + b":"):
                return row[len(name) + 1 :].decode()
    return ""


def _is_demoted(reply: Any) -> bool:
    """Whether a primary refused to write that is one no longer, or has lost its replicas and may be cut off with us.
    Redis 6.2 wraps what it says to a script in an error of the script's."""
    if not isinstance(reply, ResponseError):
        return False
    return isinstance(reply, ReadOnlyError) or any(word in str(reply) for word in ("READONLY", "NOREPLICAS"))
