"""Origins of pages and the URL of a webhook: what a sound one is. Of a webhook's URL all may be a secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from scheduler.urls import hide_password

ANY_ORIGIN = "*"
# As browsers send it: no path, no capitals.
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[1-9][0-9]{0,4})?")


def origins_of(text: str) -> frozenset[str]:
    """The origins of a list with commas between them."""
    return frozenset(part.strip() for part in text.split(",") if part.strip())


def origins_fault(text: str) -> str | None:
    """What a list of origins must be and is not; None for a sound one and for none at all."""
    wrong = [one for one in sorted(origins_of(text)) if one != ANY_ORIGIN and not _ORIGIN.fullmatch(one)]
    if not wrong:
        return None
    return f"{wrong[0]!r} is none of: an origin as browsers send it, such as https://app.example:8443, and {ANY_ORIGIN}"


def webhook_fault(url: str) -> str | None:
    """What it must be and is not, without a word of the URL itself; None for a sound one and for none at all."""
    if not url:
        return None
    if not re.fullmatch(r"https?://[!-~]+", url):
        return "must begin with http:// or https:// and hold no blanks"
    try:
        parts = urlsplit(url)
        is_sound = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_sound = False
    if not is_sound:
        return "must name a host, or HOST:PORT, the port a whole number, 1 to 65,535"
    return "must hold its secret in the path or the query, not before an @" if "@" in parts.netloc else None


def web_faults(cors_origins: str, alert_webhook: str, otel_endpoint: str) -> Iterator[tuple[str, str]]:
    """The settings of these names that are not sound, each with what is wrong."""
    if fault := origins_fault(cors_origins):
        yield "cors_origins", f": {fault}"
    if fault := webhook_fault(alert_webhook):
        yield "alert_webhook", f" {fault}"
    if otel_endpoint and not otel_endpoint.startswith(("http://", "https://")):
        wanted = "it must begin with http:// or https://, as http://host:4318"
        yield "otel_endpoint", f" is {hide_password(otel_endpoint)!r}; {wanted}"


def hide_secret(url: str) -> str:
    """Where it leads, and nothing of the rest."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/***"
