"""One look at a system of several shards, out of a look at each: what grows is added up.

The moments of two shards are never of the same time, and each has the clock of its own Redis. So rows are compared by
their age: all shards are looked at together, within milliseconds. Between two rows a number counts as growing evenly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from scheduler.capacity.health import EVICTS_NOTHING
from scheduler.capacity.observed import Moment, Observed

_MAPPINGS = ("iterations", "stages")
_GROWING = tuple(spec.name for spec in fields(Moment) if spec.name not in ("at_s", *_MAPPINGS))


def summed(seen: Sequence[Observed]) -> Observed:
    """The whole system. At least one look."""
    if len(seen) == 1:
        return seen[0]
    longest = max(seen, key=lambda one: len(one.history))
    now_s = longest.now.at_s
    return Observed(
        now=_sum([one.now for one in seen], now_s),
        history=tuple(_sum([_at(one, now_s - row.at_s) for one in seen], row.at_s) for row in longest.history),
        workers=tuple(worker for one in seen for worker in one.workers),
        num_api_replicas=max(one.num_api_replicas for one in seen),  # each reports to every shard that it is there
        counts={name: int(number) for name, number in _added(one.counts for one in seen).items()},
        totals=_added(one.totals for one in seen),
        queue_depth=sum(one.queue_depth for one in seen),
        num_waiting=sum(one.num_waiting for one in seen),
        num_running=sum(one.num_running for one in seen),
        reserved_tokens=sum(one.reserved_tokens for one in seen),
        oldest_waiting_s=max(one.oldest_waiting_s for one in seen),
        oldest_running_s=max(one.oldest_running_s for one in seen),
        dead_letters=sum(one.dead_letters for one in seen),
        redis_memory_bytes=sum(one.redis_memory_bytes for one in seen),
        redis_max_memory_bytes=sum(one.redis_max_memory_bytes for one in seen),
        redis_kept_bytes=sum(one.redis_kept_bytes for one in seen),
        redis_policy=next((one.redis_policy for one in seen if one.redis_policy != EVICTS_NOTHING), EVICTS_NOTHING),
        redis_refuses=next((one.redis_refuses for one in seen if one.redis_refuses), ""),
        is_suspended=any(one.is_suspended for one in seen),
        foreign_workers=tuple(name for one in seen for name in one.foreign_workers),
    )


def at_rest(last: Observed) -> Observed:
    """A shard that does not answer, as it was seen last: its counts stay in the sums, and it does nothing."""
    return Observed(now=last.now, counts=last.counts, totals=last.totals, dead_letters=last.dead_letters)


def _sum(moments: Sequence[Moment], at_s: float) -> Moment:
    sums: dict[str, Any] = {name: sum(getattr(one, name) for one in moments) for name in _GROWING}
    sums |= {name: _added(getattr(one, name) for one in moments) for name in _MAPPINGS}
    return Moment(at_s=at_s, **sums)


def _at(seen: Observed, age_s: float) -> Moment:
    """The numbers of so long ago; those of the first row before it, and the last one's after the last."""
    at_s = seen.now.at_s - age_s
    rows = [*seen.history, seen.now]
    later = next((number for number, row in enumerate(rows) if row.at_s >= at_s), len(rows) - 1)
    before, after = rows[max(0, later - 1)], rows[later]
    seconds = after.at_s - before.at_s
    share = min(1.0, max(0.0, (at_s - before.at_s) / seconds)) if seconds > 0 else 1.0
    between: dict[str, Any] = {name: _between(getattr(before, name), getattr(after, name), share) for name in _GROWING}
    for name in _MAPPINGS:
        old, new = getattr(before, name), getattr(after, name)
        between[name] = {n: _between(old.get(n, 0.0), new.get(n, 0.0), share) for n in {*old, *new}}
    return replace(after, at_s=at_s, **between)


def _between(before: float, after: float, share: float) -> float:
    return after if share >= 1.0 else before + share * (after - before)


def _added(each: Iterable[Mapping[str, float]]) -> dict[str, float]:
    sums: Counter[str] = Counter()
    for one in each:
        sums.update(one)
    return dict(sums)
