"""A request as it comes in on a connection of the event loop: its head as a WSGI environment, and its body."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import lru_cache
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote_to_bytes

from api.http import request_input
from api.http.replies import Header
from scheduler.errors import InvalidHeader, ServingError

MAX_FIELD_BYTES = 8190  # of a header
MAX_HEADERS = 100  # each takes time in the event loop
METHODS = "DELETE, GET, HEAD, OPTIONS, POST"  # that some route takes
_STARTS = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}
Environ = dict[str, Any]


class IncomingRequest:
    """Used in the event loop alone."""

    __slots__ = (
        "declared_bytes", "environ", "fault", "has_begun", "has_ended", "is_complete", "is_framed", "keeps_alive",
        "link", "on_left", "_body", "_came", "_num_headers",
    )  # fmt: skip

    def __init__(self, link: Any, environ: Environ) -> None:
        self.link, self.environ = link, environ
        self.fault: ServingError | None = None  # why its head, or the rest of its body, cannot be read
        self.on_left: Callable[[], None] | None = None
        self.is_complete = self.has_begun = self.has_ended = self.is_framed = False  # begun, ended, framed: its answer
        self.declared_bytes: int | None = 0  # of its body; None of a chunked one, which ends by itself
        self.keeps_alive = True
        self._body = bytearray()
        self._came: asyncio.Future[None] | None = None
        self._num_headers = 0

    def add_header(self, name: bytes, value: bytes) -> None:
        self._num_headers += 1
        if self._num_headers > MAX_HEADERS or len(value) > MAX_FIELD_BYTES:
            self.fault = unreadable()
        if (key := _environ_name(name)) is None:
            return
        text = value.decode("latin-1").strip(" \t")
        if key not in self.environ:
            self.environ[key] = text
        elif key == "HTTP_HOST":
            self.fault = InvalidHeader("A request has one Host.")
        else:
            self.environ[key] = f"{self.environ[key]},{text}"

    def end_head(self, method: str, version: str, target: bytes) -> None:
        environ = self.environ
        path, query = _split(target)
        environ["REQUEST_METHOD"], environ["SERVER_PROTOCOL"] = method, f"HTTP/{version}"
        environ["PATH_INFO"] = unquote_to_bytes(path).decode("latin-1") if b"%" in path else path.decode("latin-1")
        environ["QUERY_STRING"] = query.decode("latin-1")
        coding = environ.get("HTTP_TRANSFER_ENCODING")
        self.declared_bytes = request_input.declared_length(environ)
        if version not in ("1.1", "1.0") or (coding is not None and coding.lower() != "chunked"):
            self.fault = self.fault or unreadable()
        elif version == "1.1" and "HTTP_HOST" not in environ:
            self.fault = self.fault or InvalidHeader("A request of HTTP/1.1 needs a Host.")

    def add_body(self, data: bytes, limit_bytes: int) -> None:
        if self.fault is None:
            self._body += data
            if len(self._body) > limit_bytes:
                self.fail(request_input.body_too_large(limit_bytes))

    def complete(self) -> None:
        self.is_complete = True
        self._wake()

    def fail(self, error: ServingError) -> None:
        """The rest of the body cannot be read."""
        if not self.is_complete and self.fault is None:
            self.fault = error
            self._wake()

    def _wake(self) -> None:
        if self._came is not None and not self._came.done():
            self._came.set_result(None)

    async def read_json(self, limit_bytes: int) -> bytes:
        """The whole body, which is declared as JSON. Raises as `read_body`."""
        body = await self.read_body(limit_bytes)
        request_input.check_media_type(self.environ)  # only now: a body that is not read to its end would reset
        return body

    async def read_body(self, limit_bytes: int) -> bytes:
        """The whole body. Raises BodyTooLarge, MalformedJson, UnsupportedMediaType; too large a one is unread."""
        if self.declared_bytes is not None and self.declared_bytes > limit_bytes:
            raise request_input.body_too_large(limit_bytes, self.declared_bytes)
        if not self.is_complete and self.fault is None:
            self.link.allow_body()
            self._came = asyncio.get_running_loop().create_future()
            await self._came
        if self.fault is not None:
            raise self.fault
        request_input.check_coding(self.environ)
        return bytes(self._body)

    def when_left(self, call: Callable[[], None] | None) -> None:
        self.on_left = call
        if call is not None and self.link.is_lost:
            call()


@lru_cache(1024)
def _environ_name(name: bytes) -> str | None:
    """None of one with an underscore, which would be taken for one with a hyphen."""
    if b"_" in name:
        return None
    text = name.decode("latin-1").upper().replace("-", "_")
    return text if text in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{text}"


def _split(target: bytes) -> tuple[bytes, bytes]:
    """The path and the query of a request target, which may be a whole URL."""
    path, _, query = target.partition(b"#")[0].partition(b"?")
    if path[:1] != b"/" and b"://" in path:
        path = b"/" + path.partition(b"://")[2].partition(b"/")[2]
    return path, query


def unreadable() -> InvalidHeader:
    return InvalidHeader("The request line or a header cannot be read or is too long, or there are too many headers.")


def head_of(status: int, headers: Iterable[Header], first: str, keeps_alive: bool) -> bytes:
    """The head of an answer. `first`: header lines in front of its own."""
    lines = "".join([f"{name.lower()}: {value}\r\n" for name, value in headers])
    closing = "" if keeps_alive else "connection: close\r\n"
    return f"{_STARTS[status]}{first}{lines}{closing}\r\n".encode("latin-1")
