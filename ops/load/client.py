"""A client of one server over HTTP/1.1: `await client.request("POST", "/correct", body)`, on connections that it keeps.

It belongs to one event loop, and nothing in it waits outside that loop. `run` runs a load in a loop of its own, `fetch`
sends a single request from code that has none. Answers are parsed in C: parsed in Python, they would take as much of
two cores as the server that is measured. `refusal` and `reason_of` say why there is no answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httptools

from ops.observe.words import printable
from scheduler.settings import variable

new_event_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
with suppress(ModuleNotFoundError):
    import uvloop

    new_event_loop = uvloop.new_event_loop

PATIENCE_S = 60.0  # for a whole answer; longer than a server's own deadline
LONGEST_BYTES = 1 << 24  # of an answer; those of a miniserve are a hundredth
_CONNECT_PATIENCE_S = 10.0
_T = TypeVar("_T")


class ClosedEarly(ConnectionError):
    """The server closed the connection before the whole answer was there."""

    def __init__(self, has_begun: bool) -> None:
        super().__init__("closed before the answer was complete")
        self.has_begun = has_begun  # a part of the answer was there: who sends the request again may be answered twice


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete answer."""

    status: int
    body: bytes


class Client:
    """Sends requests to the server at a base URL, each on a connection of its own while it lasts."""

    def __init__(self, url: str, api_key: str = "", source: str = "") -> None:
        """`source`: the address to send from. Raises ValueError for anything but http[s]://host[:port][/]."""
        self.url = url.rstrip("/")
        self._is_tls, self._place = _place_of(url)
        self._source = (source, 0) if source else None
        key = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._lines = _lines({"Host": urlsplit(url).netloc, "Content-Type": "application/json", **key})
        self._idle: list[_Connection] = []

    async def request(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None,
        patience_s: float = PATIENCE_S,
    ) -> Reply:  # fmt: skip
        """Send it and wait for the whole answer. Raises OSError: ClosedEarly, TimeoutError, or why nobody answers."""
        head = f"{method} {path} HTTP/1.1\r\n{self._lines}{_lines(headers or {})}Content-Length: {len(body)}\r\n\r\n"
        async with asyncio.timeout(patience_s):
            connection = self._kept() or await self._connect()
            try:
                reply = await connection.exchange(head.encode("latin-1") + body)
            except BaseException:  # cancelled, too: an answer may still come, and would be the next request's
                connection.close()
                raise
        self._idle.append(connection)
        return reply

    async def close(self) -> None:
        """Close all connections that no request uses."""
        while self._idle:
            self._idle.pop().close()
        await asyncio.sleep(0)  # the loop closes them in its next iteration

    def _kept(self) -> _Connection | None:
        while self._idle:
            if (connection := self._idle.pop()).is_open:
                return connection
        return None

    async def _connect(self) -> _Connection:
        loop, (host, port) = asyncio.get_running_loop(), self._place
        tls = _tls() if self._is_tls else None
        async with asyncio.timeout(_CONNECT_PATIENCE_S):
            _, connection = await loop.create_connection(_Connection, host, port, ssl=tls, local_addr=self._source)
        return connection


class _Connection(asyncio.Protocol):
    """One request after the other. The methods without an underscore are asyncio's, and those of the parser."""

    def __init__(self) -> None:
        self.is_open = False
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[Reply] | None = None
        self._has_begun = False

    async def exchange(self, message: bytes) -> Reply:
        self._parts: list[bytes] = []
        self._num_bytes = 0
        self._has_begun = False
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(message)
        return await self._answer

    def close(self) -> None:
        self.is_open = False
        self._transport.abort()
        if self._answer is not None:
            self._answer.cancel()  # where nobody waits for it any more

    def connection_made(self, transport: Any) -> None:
        self._transport, self.is_open = transport, True

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():  # bytes that nobody asked for
            self.close()
            return
        self._has_begun = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._fail(ConnectionError("the answer is no HTTP"))

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        self._fail(ClosedEarly(self._has_begun))

    def _fail(self, error: OSError) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)

    def on_body(self, part: bytes) -> None:
        self._parts.append(part)
        self._num_bytes += len(part)
        if self._num_bytes > LONGEST_BYTES:
            self._fail(ConnectionError(f"the answer has more than {LONGEST_BYTES:,} bytes"))
            self.close()

    def on_message_complete(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(Reply(self._parser.get_status_code(), b"".join(self._parts)))
        if not self._parser.should_keep_alive():
            self.close()


def run(load: Coroutine[Any, Any, _T]) -> _T:
    """Run it to its end, in a thread that has no loop yet."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(load)


def fetch(client: Client, method: str, path: str, body: bytes = b"", patience_s: float = PATIENCE_S) -> Reply:
    """One request, in a loop of its own, whose connection is closed. Raises OSError.

    The loop is asyncio's: while uvloop's runs, the process does not hear of its signals as it has asked to.
    """

    async def ask() -> Reply:
        try:
            return await client.request(method, path, body, patience_s=patience_s)
        finally:
            await client.close()

    return asyncio.run(ask())


def refusal(reply: Reply) -> str:
    """What a problem document says (Redis may be away), or else a guess; and how a key is given, where it wants one."""
    try:
        detail = str(json.loads(reply.body)["detail"])
    except (ValueError, LookupError, TypeError):
        detail = "is this the URL of a miniserve?"
    remedy = f" Give it with --api-key, or better by {variable('api_key')}." if reply.status == 401 else ""
    return f"{reply.status}: {printable(detail)}{remedy}"


def reason_of(error: OSError) -> str:
    """Why nobody answers, in a few words."""
    if isinstance(error, ssl.SSLError):
        return f"{error.reason or error}; SSL_CERT_FILE names further authorities"
    if error.errno and not isinstance(error, socket.gaierror):  # asyncio's own words name the address again
        return os.strerror(error.errno)
    return error.strerror or str(error) or "no answer in time"


def _place_of(url: str) -> tuple[bool, tuple[str, int]]:
    """Whether it is TLS, host and port."""
    try:
        parts = urlsplit(url)
        host, port, is_tls = parts.hostname, parts.port, parts.scheme == "https"
        is_base = parts.scheme in ("http", "https") and parts.path in ("", "/") and port != 0
        if host and is_base and not (parts.query or parts.fragment or "@" in parts.netloc):
            return is_tls, (host, port or (443 if is_tls else 80))
    except ValueError:  # of a port that is none
        pass
    shown = "***@" + url.rsplit("@", 1)[1] if "@" in url else url  # what stands before an @ may be a password
    raise ValueError(f"{shown!r} is no base URL; it must look like http://127.0.0.1:8000")


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()  # SSL_CERT_FILE names further authorities


def _lines(headers: Mapping[str, str]) -> str:
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
