"""Reads the head of a request, with bounds: the media type of the body, the headers that say how it is answered.

Works on the WSGI environment. A body over the limit is not read: it is refused as soon as that is known, and the server
closes the connection once the client had its answer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from api.service.exchange import Account
from scheduler.errors import BodyTooLarge, InvalidHeader, MalformedJson, UnsupportedMediaType

MAX_REQUEST_ID_CHARACTERS = 128
MAX_DEADLINE_MS = 600_000
MAX_KEY_CHARACTERS = 255
MAX_HEADER_CHARACTERS = 1024
# Those that are parsed and have no smaller bound of their own; lines of one name count together.
_PARSED = ("HTTP_ACCEPT", "CONTENT_TYPE", "HTTP_PREFER", "HTTP_TRACEPARENT", "HTTP_HOST", "HTTP_IF_NONE_MATCH")


def check_coding(environ: Mapping[str, Any]) -> None:
    """Raises UnsupportedMediaType for a body that is compressed."""
    if environ.get("HTTP_CONTENT_ENCODING", "").strip().lower() not in ("", "identity"):
        raise UnsupportedMediaType("No Content-Encoding is taken: send the body uncompressed, without this header.")


def incomplete() -> MalformedJson:
    return MalformedJson("The body did not arrive in full.")


def body_too_large(limit_bytes: int, declared_bytes: int | None = None) -> BodyTooLarge:
    size = f"more than {limit_bytes:,}" if declared_bytes is None else f"{declared_bytes:,}"
    return BodyTooLarge(f"The body has {size} bytes; at most {limit_bytes:,} are taken: send the text in parts.")


def check_media_type(environ: Mapping[str, Any]) -> None:
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


def bearer_of(environ: Mapping[str, Any]) -> str:
    """The key of the header Authorization; '' without."""
    scheme, _, key = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


@lru_cache(4096)
def client_number(name: str) -> str:
    """Whom the queue counts a request for: a digest of an address or account, which RQ's tools may show; '' of ''."""
    return str(int.from_bytes(hashlib.blake2b(name.encode(), digest_size=6).digest())) if name else ""


def declared_length(environ: Mapping[str, Any]) -> int | None:
    """None for a chunked body, which ends by itself."""
    if environ.get("HTTP_TRANSFER_ENCODING"):
        return None
    return int(environ.get("CONTENT_LENGTH") or 0)
