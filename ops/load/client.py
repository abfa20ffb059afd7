"""A client of one server over HTTP/1.1: `await client.request("POST", "/correct", body)`, on connections that it keeps.

It belongs to one event loop, and nothing in it waits outside that loop. `run` runs a load in a loop of its own, `fetch`
sends a single request from code that has none. Answers are parsed in C: parsed in Python, they would take as much of
two cores as the server that is measured.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httptools

from ops.observe.scrape import key_headers

new_event_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
with suppress(ModuleNotFoundError):
    import uvloop

    new_event_loop = uvloop.new_event_loop

PATIENCE_S = 60.0  # for a whole answer; longer than a server's own deadline
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
    headers: Mapping[bytes, bytes] = field(default_factory=dict)  # names in lower case

    @property
    def server_timing(self) -> bytes:
        """The header as it came; empty where there is none."""
        return self.headers.get(b"server-timing", b"")


class Client:
    """Sends requests to the server at a base URL, each on a connection of its own while it lasts."""

    def __init__(self, url: str, api_key: str = "", source: str = "") -> None:
        """`source`: the address to send from. Raises ValueError for anything but http[s]://host[:port][/]."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/") or parts.query:
            raise ValueError(f"{url!r} is no base URL; it must look like http://127.0.0.1:8000")
        self.url = url.rstrip("/")
        self._is_tls = parts.scheme == "https"
        self._place = parts.hostname, parts.port or (443 if self._is_tls else 80)
        self._source = (source, 0) if source else None
        self._lines = _lines({"Host": parts.netloc, "Content-Type": "application/json", **key_headers(api_key)})
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

    async def connect(self) -> None:
        """Keep one connection more. Raises OSError."""
        self._idle.append(await self._connect())

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
        self._headers: dict[bytes, bytes] = {}
        self._parts: list[bytes] = []
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

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.lower()] = value

    def on_body(self, part: bytes) -> None:
        self._parts.append(part)

    def on_message_complete(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(Reply(self._parser.get_status_code(), b"".join(self._parts), self._headers))
        if not self._parser.should_keep_alive():
            self.close()


def run(load: Coroutine[Any, Any, _T]) -> _T:
    """Run it to its end, in a thread that has no loop yet."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(load)


def fetch(client: Client, method: str, path: str, body: bytes = b"", patience_s: float = PATIENCE_S) -> Reply:
    """One request in a loop of its own. Raises OSError."""

    async def ask() -> Reply:
        try:
            return await client.request(method, path, body, patience_s=patience_s)
        finally:
            await client.close()

    return run(ask())


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()  # SSL_CERT_FILE names further authorities


def _lines(headers: Mapping[str, str]) -> str:
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
