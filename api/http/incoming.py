"""A request as it comes in on a connection of the event loop: its head and its body, with bounds.

A body over the limit is not read: it is refused as soon as that is known, and the server closes the connection once the
client had its answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote_to_bytes

from api.http.replies import Header
from api.service.exchange import Account
from scheduler.errors import BodyTooLarge, InvalidHeader, MalformedJson, ServingError, UnsupportedMediaType

MAX_FIELD_BYTES = 8190  # of a header
MAX_HEADERS = 100  # each takes time in the event loop
MAX_REQUEST_ID_CHARACTERS = 128
MAX_DEADLINE_MS = 600_000
MAX_KEY_CHARACTERS = 255
# Of those that are parsed and have no smaller bound of their own: longer ones would hold everybody up.
MAX_HEADER_CHARACTERS = 1024  # lines of one name count together
_PARSED = ("accept", "content-type", "prefer", "traceparent", "host", "if-none-match")
METHODS = "DELETE, GET, HEAD, OPTIONS, POST"  # that some route takes
_STARTS = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}
Headers = Mapping[str, str]  # by their names in small letters


class IncomingRequest:
    """Used in the event loop alone."""

    __slots__ = (
        "address", "declared_bytes", "fault", "has_begun", "has_ended", "headers", "is_complete", "is_framed",
        "keeps_alive", "link", "method", "on_left", "path", "query", "version", "_body", "_came", "_num_headers",
    )  # fmt: skip

    def __init__(self, link: Any, address: str = "") -> None:
        self.link, self.address = link, address
        self.method, self.path, self.query, self.version = "-", "", b"", ""
        self.headers: dict[str, str] = {}
        self.fault: ServingError | None = None  # why its head, or the rest of its body, cannot be read
        self.on_left: Callable[[], None] | None = None
        self.is_complete = self.has_begun = self.has_ended = self.is_framed = False  # begun, ended, framed: its answer
        self.declared_bytes: int | None = 0  # of its body; None of a chunked one, which ends by itself
        self.keeps_alive = True
        self._body = bytearray()
        self._came: asyncio.Future[None] | None = None
        self._num_headers = 0

    def add_header(self, raw_name: bytes, value: bytes) -> None:
        self._num_headers += 1
        if self._num_headers > MAX_HEADERS or len(value) > MAX_FIELD_BYTES:
            self.fault = unreadable()
        name, text = raw_name.decode("latin-1").lower(), value.decode("latin-1").strip(" \t")
        if name not in self.headers:
            self.headers[name] = text
        elif name == "host":
            self.fault = InvalidHeader("A request has one Host.")
        else:
            self.headers[name] += f",{text}"
        if len(self.headers[name]) > MAX_HEADER_CHARACTERS and name in _PARSED:
            found = f"{name.title()} has {len(self.headers[name]):,} characters"
            self.fault = InvalidHeader(f"{found}; it may have at most {MAX_HEADER_CHARACTERS:,}.")

    def end_head(self, method: str, version: str, target: bytes) -> None:
        path, self.query = _split(target)
        self.method, self.version = method, version
        self.path = (unquote_to_bytes(path) if b"%" in path else path).decode(errors="replace")
        coding = self.headers.get("transfer-encoding")
        self.declared_bytes = int(self.headers.get("content-length") or 0) if coding is None else None
        if version not in ("1.1", "1.0") or (coding is not None and coding.lower() != "chunked"):
            self.fault = self.fault or unreadable()
        elif version == "1.1" and "host" not in self.headers:
            self.fault = self.fault or InvalidHeader("A request of HTTP/1.1 needs a Host.")

    def add_body(self, data: bytes, limit_bytes: int) -> None:
        if self.fault is None:
            self._body += data
            if len(self._body) > limit_bytes:
                self.fail(body_too_large(limit_bytes))

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
        """The whole body, which is declared as JSON, in UTF-8 if a charset is named. Raises as `read_body`."""
        body = await self.read_body(limit_bytes)
        if (declared := self.headers.get("content-type", "")) == "application/json":
            return body
        essence, _, parameters = declared.lower().partition(";")
        essence, parameters = essence.strip(), parameters.replace(" ", "").replace('"', "")
        is_json = essence == "application/json" or (essence.startswith("application/") and essence.endswith("+json"))
        # Only now: a body that is not read to its end would reset.
        if not is_json or ("charset=" in parameters and "charset=utf-8" not in parameters):
            raise UnsupportedMediaType("Send the body as UTF-8 JSON, with the header Content-Type: application/json.")
        return body

    async def read_body(self, limit_bytes: int) -> bytes:
        """The whole body. Raises BodyTooLarge, MalformedJson, UnsupportedMediaType; too large a one is unread."""
        if self.declared_bytes is not None and self.declared_bytes > limit_bytes:
            raise body_too_large(limit_bytes, self.declared_bytes)
        if not self.is_complete and self.fault is None:
            self.link.allow_body()
            self._came = asyncio.get_running_loop().create_future()
            await self._came
        if self.fault is not None:
            raise self.fault
        if self.headers.get("content-encoding", "").lower() not in ("", "identity"):
            raise UnsupportedMediaType("No Content-Encoding is taken: send the body uncompressed, without this header.")
        return bytes(self._body)

    def when_left(self, call: Callable[[], None] | None) -> None:
        self.on_left = call
        if call is not None and self.link.is_lost:
            call()


def _split(target: bytes) -> tuple[bytes, bytes]:
    """The path and the query of a request target, which may be a whole URL."""
    path, _, query = target.partition(b"#")[0].partition(b"?")
    if path[:1] != b"/" and b"://" in path:
        path = b"/" + path.partition(b"://")[2].partition(b"/")[2]
    return path, query


def unreadable() -> InvalidHeader:
    return InvalidHeader("The request line or a header cannot be read or is too long, or there are too many headers.")


def incomplete() -> MalformedJson:
    return MalformedJson("The body did not arrive in full.")


def body_too_large(limit_bytes: int, declared_bytes: int | None = None) -> BodyTooLarge:
    size = f"more than {limit_bytes:,}" if declared_bytes is None else f"{declared_bytes:,}"
    return BodyTooLarge(f"The body has {size} bytes; at most {limit_bytes:,} are taken: send the text in parts.")


def correlation_id(headers: Headers) -> str | None:
    """The client's X-Request-ID as it came. Raises InvalidHeader over 128 printable characters."""
    header = headers.get("x-request-id")
    if not header:
        return None
    try:
        text = header.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        text = header
    if len(text) > MAX_REQUEST_ID_CHARACTERS or not text.isprintable():
        found = _fault_of(text, str.isprintable)
        raise InvalidHeader(f"X-Request-ID {found}; it may have at most {MAX_REQUEST_ID_CHARACTERS}, all printable.")
    return header


def _fault_of(text: str, is_allowed: Callable[[str], bool]) -> str:
    for place, character in enumerate(text, 1):
        if not is_allowed(character):
            return f"has U+{ord(character):04X} as character {place}"
    return f"has {len(text):,} characters"


def deadline_s(headers: Headers) -> float | None:
    """The client's X-Deadline-Ms: how long its answer is of use, from now. Raises InvalidHeader."""
    if (header := headers.get("x-deadline-ms")) is None:
        return None
    if not re.fullmatch(r"[0-9]{1,9}", header) or not 1 <= int(header) <= MAX_DEADLINE_MS:
        found = ascii(header) if len(header) <= 32 else f"{len(header):,} characters"
        allowed = f"a whole number of milliseconds from 1 to {MAX_DEADLINE_MS:,}"
        raise InvalidHeader(f"X-Deadline-Ms is {found}; send {allowed}, or leave it out.")
    return int(header) / 1e3


def idempotency_digest(headers: Headers, account: Account | None = None) -> str:
    """A digest of the client's Idempotency-Key, '' without one; the key itself is never stored. Raises InvalidHeader.

    Hashed with the name of the API key, so that nobody meets the request of another.
    """
    if (header := headers.get("idempotency-key")) is None:
        return ""
    if not 1 <= len(header) <= MAX_KEY_CHARACTERS or not (header.isascii() and header.isprintable()):
        found = _fault_of(header, lambda character: character.isascii() and character.isprintable())
        raise InvalidHeader(f"Idempotency-Key {found}; it may have 1 to {MAX_KEY_CHARACTERS}, all printable ASCII.")
    tenant = "default" if account is None else f"key {account.name}"
    return hashlib.blake2b(header.encode(), key=tenant.encode(), digest_size=16).hexdigest()


def bearer_of(headers: Headers) -> str:
    """The key of the header Authorization; '' without."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


@lru_cache(4096)
def client_number(name: str) -> str:
    """Whom the queue counts a request for: a digest of an address or account, which RQ's tools may show; '' of ''."""
    return str(int.from_bytes(hashlib.blake2b(name.encode(), digest_size=6).digest())) if name else ""


def head_of(status: int, headers: Iterable[Header], first: str, keeps_alive: bool) -> bytes:
    """The head of an answer. `first`: header lines in front of its own."""
    lines = "".join([f"{name.lower()}: {value}\r\n" for name, value in headers])
    closing = "" if keeps_alive else "connection: close\r\n"
    return f"{_STARTS[status]}{first}{lines}{closing}\r\n".encode("latin-1")
