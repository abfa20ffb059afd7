"""Reads what the client sent, with bounds: the body, its media type, the headers that say how it wants its answer.

Works on the WSGI environment. A body over the limit is not read: it is refused as soon as that is known, and the server
closes the connection once the client had its answer.
"""

from __future__ import annotations

import hashlib
import re
import select
import socket
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

from gevent.monkey import get_original
from gunicorn.http.errors import ParseException

from scheduler.accounts import Account
from scheduler.errors import BodyTooLarge, InvalidHeader, MalformedJson, UnsupportedMediaType

MAX_REQUEST_ID_CHARACTERS = 128
MAX_DEADLINE_MS = 600_000
MAX_KEY_CHARACTERS = 255
MAX_HEADER_CHARACTERS = 1024
_poll = get_original("select", "poll")  # gevent's knows no POLLRDHUP
_POLLRDHUP = getattr(select, "POLLRDHUP", 0)  # of Linux
_TCP_INFO = getattr(socket, "TCP_INFO", 0)  # of Linux, too
_LAST_RECEIVED = struct.Struct("52xII")  # of TCP_INFO: ms since the last data, since the last packet
_CLOSES_WITH_REQUEST_MS = 250  # a client that will read on closes at once; most that give up have waited for longer
# Those that are parsed and have no smaller bound of their own; lines of one name count together.
_PARSED = ("HTTP_ACCEPT", "CONTENT_TYPE", "HTTP_PREFER", "HTTP_TRACEPARENT", "HTTP_HOST", "HTTP_IF_NONE_MATCH")


def read_json(environ: Mapping[str, Any], limit_bytes: int) -> bytes:
    """The whole body, which is declared as JSON. Raises BodyTooLarge, MalformedJson, UnsupportedMediaType."""
    body = read_body(environ, limit_bytes)
    _check_media_type(environ)  # only now: a body that is not read to its end would reset the connection
    return body


def read_body(environ: Mapping[str, Any], limit_bytes: int) -> bytes:
    """The whole body, chunked ones too. Raises as `read_json`; too large a one is unread if declared."""
    stream, declared = environ["wsgi.input"], _declared_length(environ)
    try:
        is_too_large = declared is not None and declared > limit_bytes
        body = b"" if is_too_large else stream.read(limit_bytes + 1 if declared is None else declared)
    except (OSError, ParseException) as error:  # the client left, stalled, or sent broken chunks
        raise MalformedJson("The body did not arrive in full.") from error
    if is_too_large or len(body) > limit_bytes:
        raise body_too_large(limit_bytes, declared)
    if declared is not None and len(body) < declared:
        raise MalformedJson("The body did not arrive in full.")
    if environ.get("HTTP_CONTENT_ENCODING", "").strip().lower() not in ("", "identity"):
        raise UnsupportedMediaType("No Content-Encoding is taken: send the body uncompressed, without this header.")
    return body


def body_too_large(limit_bytes: int, declared_bytes: int | None = None) -> BodyTooLarge:
    size = f"more than {limit_bytes:,}" if declared_bytes is None else f"{declared_bytes:,}"
    return BodyTooLarge(f"The body has {size} bytes; at most {limit_bytes:,} are taken: send the text in parts.")


def _check_media_type(environ: Mapping[str, Any]) -> None:
    """Raises UnsupportedMediaType unless the body is declared as JSON, in UTF-8 if a charset is named."""
    declared = environ.get("CONTENT_TYPE", "")
    if declared == "application/json":
        return
    essence, _, parameters = declared.lower().partition(";")
    essence, parameters = essence.strip(), parameters.replace(" ", "").replace('"', "")
    is_json = essence == "application/json" or (essence.startswith("application/") and essence.endswith("+json"))
    if not is_json or ("charset=" in parameters and "charset=utf-8" not in parameters):
        raise UnsupportedMediaType("Send the body as UTF-8 JSON, with the header Content-Type: application/json.")


def check_headers(environ: Mapping[str, Any]) -> None:
    """Raises InvalidHeader where one that is to be parsed is so long that parsing it would hold everybody up."""
    for name in _PARSED:
        if name in environ and len(environ[name]) > MAX_HEADER_CHARACTERS:
            shown = name.removeprefix("HTTP_").replace("_", "-").title()
            found = f"{shown} has {len(environ[name]):,} characters"
            raise InvalidHeader(f"{found}; it may have at most {MAX_HEADER_CHARACTERS:,}.")


def correlation_id(environ: Mapping[str, Any]) -> str | None:
    """The client's X-Request-ID as it came. Raises InvalidHeader over 128 printable characters."""
    header = environ.get("HTTP_X_REQUEST_ID")
    if not header:
        return None
    try:
        text = header.encode("latin-1").decode("utf-8")  # WSGI hands out bytes as Latin-1
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


def deadline_s(environ: Mapping[str, Any]) -> float | None:
    """The client's X-Deadline-Ms: how long its answer is of use, from now. Raises InvalidHeader."""
    if (header := environ.get("HTTP_X_DEADLINE_MS")) is None:
        return None
    if not re.fullmatch(r"[0-9]{1,9}", header) or not 1 <= int(header) <= MAX_DEADLINE_MS:
        found = ascii(header) if len(header) <= 32 else f"{len(header):,} characters"
        allowed = f"a whole number of milliseconds from 1 to {MAX_DEADLINE_MS:,}"
        raise InvalidHeader(f"X-Deadline-Ms is {found}; send {allowed}, or leave it out.")
    return int(header) / 1e3


def idempotency_digest(environ: Mapping[str, Any], account: Account | None = None) -> str:
    """A digest of the client's Idempotency-Key, '' without one; the key itself is never stored. Raises InvalidHeader.

    Hashed with the name of the API key, so that nobody meets the request of another.
    """
    if (header := environ.get("HTTP_IDEMPOTENCY_KEY")) is None:
        return ""
    if not 1 <= len(header) <= MAX_KEY_CHARACTERS or not (header.isascii() and header.isprintable()):
        found = _fault_of(header, lambda character: character.isascii() and character.isprintable())
        raise InvalidHeader(f"Idempotency-Key {found}; it may have 1 to {MAX_KEY_CHARACTERS}, all printable ASCII.")
    tenant = "default" if account is None else f"key {account.name}"
    return hashlib.blake2b(header.encode(), key=tenant.encode(), digest_size=16).hexdigest()


@lru_cache(4096)
def client_number(name: str) -> str:
    """Whom the queue counts a request for: a digest of an address or account, which RQ's tools may show; '' of ''."""
    return str(int.from_bytes(hashlib.blake2b(name.encode(), digest_size=6).digest())) if name else ""


def hang_up_detector(environ: Mapping[str, Any], is_stream: bool = False) -> Callable[[], bool] | None:
    """Returns a check whether the client has left; None where the server does not give us the socket."""
    if (connection := environ.get("gunicorn.socket")) is None:
        return None
    may_ask = not is_stream and environ.get("SERVER_PROTOCOL") == "HTTP/1.1"  # a stream finds out by its comments
    return _HangUpDetector(connection) if may_ask else partial(has_left, connection)


class _HangUpDetector:
    """Called now and then while a client waits for its answer. docs/http.md says what it can know, and why."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._has_asked = False

    def __call__(self) -> bool:
        """A client that sends no more is asked once: where nobody reads, its kernel answers with a reset."""
        if has_left(self._connection):
            return True
        if not self._has_asked and sends_no_more(self._connection):
            self._has_asked = True
            if not _has_closed_with_request(self._connection):
                with suppress(OSError):  # the next look sees why
                    self._connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return False


def has_left(connection: socket.socket) -> bool:
    """Whether the connection was reset, or is closed on both sides."""
    return connection.fileno() < 0 or bool(_events(connection) & (select.POLLHUP | select.POLLERR))


def sends_no_more(connection: socket.socket) -> bool:
    """Whether the client has closed its sending side, also where what it has sent is still unread."""
    return connection.fileno() < 0 or bool(_events(connection))


def _events(connection: socket.socket) -> int:
    poll = _poll()
    poll.register(connection.fileno(), _POLLRDHUP)
    return sum([events for _, events in poll.poll(0)])


def _has_closed_with_request(connection: socket.socket) -> bool:
    """By the kernel's times, so that it does not matter how late we look."""
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _LAST_RECEIVED.size)
    except OSError:  # not TCP
        return True
    last_data_ms, last_packet_ms = _LAST_RECEIVED.unpack(info)
    return bool(last_data_ms - last_packet_ms < _CLOSES_WITH_REQUEST_MS)


def _declared_length(environ: Mapping[str, Any]) -> int | None:
    """None for a chunked body, which ends by itself."""
    length = environ.get("CONTENT_LENGTH")
    if environ.get("HTTP_TRANSFER_ENCODING") or (environ.get("wsgi.input_terminated") and not length):
        return None
    return int(length or 0)
