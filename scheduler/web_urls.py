"""Origins of pages and the URL of a webhook: what a sound one is. Of a webhook's URL all may be a secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from scheduler.urls import hide_password

ANY_ORIGIN = "*"
# As browsers send it: no path, no capitals.
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[1-9][0-9]{0,4})?")
_WEBHOOK = re.compile(r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[1-9][0-9]{0,4})?(?:[/?#][!-~]*)?")


def origins_of(text: str) -> frozenset[str]:
    """The origins of a list with commas between them."""
    return frozenset(part.strip() for part in text.split(",") if part.strip())


def webhook_fault(url: str) -> str:
    """What it must be and is not, without a word of the URL itself; '' for a sound one and for none at all."""
    try:
        if not url or (_WEBHOOK.fullmatch(url) and urlsplit(url).port != 0):
            return ""
    except ValueError:  # a port above 65535, or no IPv6 address between brackets
        pass
    return (
        "must begin with http:// or https://, name a host, or HOST:PORT, and hold no blanks; "
        "a secret belongs in the path or the query, not before an @"
    )


def web_faults(cors_origins: str, alert_webhook: str, otel_endpoint: str) -> Iterator[tuple[str, str]]:
    """The settings of these names that are not sound, each with what is wrong."""
    for origin in sorted(origins_of(cors_origins) - {ANY_ORIGIN}):
        if not _ORIGIN.fullmatch(origin):
            wanted = f"an origin as browsers send it, such as https://app.example:8443, and {ANY_ORIGIN}"
            yield "cors_origins", f": {origin!r} is none of: {wanted}"
    if fault := webhook_fault(alert_webhook):
        yield "alert_webhook", f" {fault}"
    if otel_endpoint and not otel_endpoint.startswith(("http://", "https://")):
        wanted = "it must begin with http:// or https://, as http://host:4318"
        yield "otel_endpoint", f" is {hide_password(otel_endpoint)!r}; {wanted}"


def hide_secret(url: str) -> str:
    """Where it leads, and nothing of the rest."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/***"
