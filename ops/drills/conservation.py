"""Nothing accepted may vanish: accepted = done + failed + cancelled + expired + removed + waiting + running.

A thread reads both sides of this equation in one MULTI every 50 ms, throughout every drill, and with them how full the
queue is. Waiting + running is taken twice: the reservations, which the counts go with, and the places of the ids (the
queue, claims, rq:wip). An id that is in no place, or in two, makes them differ.
"""

from __future__ import annotations

import threading

import redis

from worker.queue.redis_py import connect

EVERY_S = 0.05
_NUM_PLACED = """
local placed = redis.call('ZCARD', 'rq:wip:correct')
for _, queue in ipairs({ 'rq:queue:correct', 'rq:queue:correct-async' }) do
  placed = placed + redis.call('LLEN', queue)
end
for _, worker in ipairs(redis.call('ZRANGE', 'miniserve:leases', 0, -1)) do
  placed = placed + redis.call('LLEN', 'miniserve:claim:' .. worker)
end
return placed
"""
_ENDS = ("done", "failed", "cancelled", "expired", "removed")
_COUNTS, _RESERVATIONS = "miniserve:counts", "miniserve:reservations"


class CountWatch:
    """Reads the counts, as a context manager, to its end; a Redis that does not answer is not read."""

    def __init__(self, redis_url: str) -> None:
        self.num_scrapes = 0
        self.num_off = 0
        self.worst = 0
        self.most_requests = 0
        self.most_tokens = 0
        self._has_counts = False
        self.client = connect(redis_url)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="conservation", daemon=True)

    @property
    def is_exact(self) -> bool | None:
        """None where this Redis holds no counts."""
        return self.num_off == 0 if self._has_counts else None

    def __enter__(self) -> CountWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Takes a last look."""
        self._stopping.set()
        self._thread.join()
        self.client.close()

    def summary(self) -> str:
        if self.is_exact is None:
            return "n/a"
        return f"off by {self.worst} at {self.num_off} of {self.num_scrapes} scrapes" if self.num_off else "exact"

    def _run(self) -> None:
        while not self._stopping.wait(EVERY_S):
            self.scrape()
        self.scrape()

    def scrape(self) -> None:
        try:
            with self.client.pipeline(transaction=True) as pipeline:
                pipeline.hgetall(_COUNTS)
                pipeline.hlen(_RESERVATIONS)
                pipeline.eval(_NUM_PLACED, 0)
                found, num_open, num_placed = pipeline.execute()
        except (redis.RedisError, OSError):
            return
        self.num_scrapes += 1
        counts = {name.decode(): int(float(count)) for name, count in found.items()}
        self.most_requests = max(self.most_requests, num_open)
        self.most_tokens = max(self.most_tokens, counts.get("reserved_tokens", 0))
        differences = [num_open - num_placed]  # reserved, and nowhere to be found; or the other way round
        if "accepted" in counts:
            self._has_counts = True
            differences.append(counts["accepted"] - sum(counts.get(name, 0) for name in _ENDS) - num_open)
        for difference in filter(None, differences):
            self.num_off += 1
            self.worst = max(self.worst, difference, key=abs)
