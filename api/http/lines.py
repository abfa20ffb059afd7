"""Streams of events: their headers and their form, and JSON as one line, which `miniserve correct -` prints, too."""

from __future__ import annotations

import re

from api.http.replies import EVENTS

# Without a charset some clients read text as Latin-1. The second header tells nginx to pass each event on at once.
EVENT_HEADERS = [("Content-Type", f"{EVENTS}; charset=utf-8"), ("X-Accel-Buffering", "no")]
NOTHING_NEW = b": nothing new\n\n"
_LINE_END = re.compile("[\u0085\u2028\u2029]")


def as_line(text: str) -> str:
    """JSON without what some readers of lines take for the end of one: U+0085, U+2028 and U+2029 are escaped."""
    return _LINE_END.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def event_of(name: str, data: str) -> bytes:
    return f"event: {name}\ndata: {as_line(data)}\n\n".encode()
