"""URLs that alerts are posted to: what a sound one is, and how it may be shown. All of one may be a secret."""

from __future__ import annotations

import re
from urllib.parse import urlsplit


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


def hide_secret(url: str) -> str:
    """Where it leads, and nothing of the rest."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/***"
