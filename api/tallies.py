"""What an API replica counts of its HTTP traffic. The numbers only grow, and add up with those of other replicas."""

from __future__ import annotations

import threading
from collections import Counter

from scheduler.observations import TIME_BUCKETS_S, Histogram

E2E = "e2e_request_latency"
HTTP = "http"  # of fields "http:<route>:<status>"
REJECTED = "rejected"  # of fields "rejected:<slug>": before they reached the queue, which counts its own refusals
_CORRECTIONS = ("/correct", "/correct/batch")
_BEFORE_THE_QUEUE = ("not-ready", "shutting-down")


class Tallies:
    """Of one process; `totals` may be called from any thread."""

    def __init__(self) -> None:
        self._latency = Histogram(TIME_BUCKETS_S)
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()  # mode threaded answers in many threads

    def note_response(self, route: str, status: int, slug: str | None) -> None:
        """`route`: as in the table of routes, never a path that somebody sent."""
        with self._lock:
            self._counts[f"{HTTP}:{route}:{status}"] += 1
            if slug in _BEFORE_THE_QUEUE and route in _CORRECTIONS:
                self._counts[f"{REJECTED}:{slug}"] += 1

    def note_refusal(self, route: str, status: int, slug: str) -> None:
        """Of the queue, by a replica that knew without asking it."""
        self.note_response(route, status, slug)
        with self._lock:
            self._counts[f"{REJECTED}:{slug}"] += 1

    def note_answer(self, seconds: float) -> None:
        """From the request until its answer, of one that was answered."""
        with self._lock:
            self._latency.observe(seconds)

    def totals(self) -> dict[str, float]:
        # No lock: the thread that asks is none of those that gevent's locks know. A copy of a dictionary is atomic.
        return dict(self._counts) | self._latency.totals(E2E)
