"""What an API process counts of its HTTP traffic. The numbers only grow, and add up with those of other processes."""

from __future__ import annotations

import threading
from collections import Counter

from scheduler.observations import TIME_BUCKETS_S, Histogram

E2E = "e2e_request_latency"
HTTP = "http"  # of fields "http:<route>:<status>"
REJECTED = "rejected"  # of fields "rejected:<slug>": the queue itself counts the refusals that it gives


class Tallies:
    """The counts of one process. Any thread may call `totals`."""

    def __init__(self) -> None:
        self._latency = Histogram(TIME_BUCKETS_S)
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()  # mode threaded answers in many threads

    def note_response(self, route: str, status: int, rejection: str = "") -> None:
        """`route` is one of the table of routes, never a path that somebody sent. `rejection`: slug of a refusal."""
        with self._lock:
            self._counts[f"{HTTP}:{route}:{status}"] += 1
            if rejection:
                self._counts[f"{REJECTED}:{rejection}"] += 1

    def note_answer(self, seconds: float) -> None:
        """The time from a request to its answer."""
        with self._lock:
            self._latency.observe(seconds)

    def totals(self) -> dict[str, float]:
        # No lock: gevent's locks do not know the thread that asks. A copy of a dictionary is atomic.
        return dict(self._counts) | self._latency.totals(E2E)
