"""Parts of traces on their way into Redis: collected where they arise, sent with what the process sends anyway.

Nothing here is on a request's way but an append. Many parts go into Redis as one text, for a value of its own for each
would cost Redis ten times as much; shelved by the first two letters of their ids, which are random, so that one who
looks for a trace reads one in 256 of them. While Redis is away the oldest parts are dropped, and counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

REQUEST_SUFFIX = ":api"  # of the name of an API replica's part; its worker's has the id of the job, without a colon
_MOST_KEPT = 4096  # while Redis is away: about a megabyte
_MOST_AT_ONCE = 1000  # of one command


class Traces:
    """Of one process. Parts come from one thread or more; what is sent and taken is up to one other."""

    def __init__(self, ttl_s: int) -> None:
        self.ttl_s = ttl_s
        self.num_dropped = 0
        self._lines: deque[str] = deque()
        self._sent: dict[str, str] = {}  # by a command that may have been lost

    @property
    def is_on(self) -> bool:
        return self.ttl_s > 0

    @property
    def has_parts(self) -> bool:
        """Of which it is not known that Redis has them."""
        return bool(self._lines or self._sent)

    def add(self, name: str, text: str) -> None:
        if len(self._lines) >= _MOST_KEPT:
            self._lines.popleft()
            self.num_dropped += 1
        self._lines.append(f"\n{name} {text}")

    def to_send(self) -> Mapping[str, str]:
        """Some that are there, by shelf, until `note_taken`: they may be sent twice."""
        if not self._sent:
            shelves: dict[str, list[str]] = {}
            for _ in range(min(len(self._lines), _MOST_AT_ONCE)):
                line = self._lines.popleft()
                shelves.setdefault(line[1:3], []).append(line)
            self._sent = {shelf: "".join(lines) for shelf, lines in shelves.items()}
        return self._sent

    def note_taken(self) -> None:
        self._sent = {}
