"""Nothing accepted may vanish: accepted = done + failed + cancelled + expired + removed + waiting + running.

Both sides of this equation are read in one MULTI every 50 ms, throughout every drill, and with them how full the queue
is. Waiting + running is taken twice: the reservations, which the counts go with, and the places of the ids (the queue,
claims, rq:wip). An id that is in no place, or in two, makes them differ.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from redis import Redis, RedisError

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


class Watch:
    """Reads the counts again and again, in a thread, until its block ends. What cannot be read is left out."""

    def __init__(self, client: Redis) -> None:
        self.seen: list[Counts] = []
        self._client = client
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Takes a last look."""
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        is_over = False
        while not is_over:
            is_over = self._is_over.wait(EVERY_S)
            with suppress(RedisError, OSError):
                self.seen.append(read_counts(self._client))


@dataclass(frozen=True, slots=True)
class Counts:
    """What Redis held at one moment."""

    off_by: int
    num_requests: int  # accepted and unfinished
    num_tokens: int  # that these reserve


def read_counts(client: Redis) -> Counts:
    with client.pipeline(transaction=True) as pipeline:
        pipeline.hgetall("miniserve:counts")
        pipeline.hlen("miniserve:reservations")
        pipeline.eval(_NUM_PLACED, 0)
        found, num_open, num_placed = pipeline.execute()
    counts: dict[str, Any] = {name.decode(): int(float(count)) for name, count in found.items()}
    nowhere = num_open - num_placed  # reserved, and nowhere to be found; or the other way round
    not_counted = counts.get("accepted", 0) - sum(counts.get(name, 0) for name in _ENDS) - num_open
    return Counts(max(nowhere, not_counted, key=abs), num_open, counts.get("reserved_tokens", 0))


def summary(seen: Sequence[Counts]) -> str:
    """`exact`, or by how much they were off and how often."""
    if not (off := [one.off_by for one in seen if one.off_by]):
        return "exact"
    return f"off by {max(off, key=abs)} at {len(off)} of {len(seen)} scrapes"
