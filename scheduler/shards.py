"""Several Redis in the place of one: what each is called, which of them something belongs to, and which one is next.

A shard is a Redis with workers of its own. Nothing here connects.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from scheduler.urls import is_sentinel_url, split_url

T = TypeVar("T")
MARK_DIGITS = 4  # of an id: they name its shard
GUESSED_TOKENS_PER_S = 2000.0  # of a worker of which nothing is known yet: the right order is enough to compare


def place_of(url: str) -> str:
    """Where a Redis is, without log-in and options: the same for processes with different users."""
    scheme, authority, path, options = split_url(url)
    hosts = authority.rpartition("@")[2].lower().split(",")
    if scheme == "unix":
        return f"{path}/{dict(options).get('db', 0)}"
    if is_sentinel_url(url):
        service, _, database = path.strip("/").partition("/")
        return f"{','.join(sorted(hosts))}/{service}/{database or 0}"
    host = hosts[0] if hosts[0].rpartition("]")[2].count(":") else f"{hosts[0]}:6379"
    return f"{host}/{path.strip('/') or dict(options).get('db', 0)}"


def mark_of(url: str) -> str:
    """The digits that the ids of its requests begin with: the order of a list may change."""
    return hashlib.blake2b(place_of(url).encode(), digest_size=MARK_DIGITS // 2).hexdigest()


def shards_fault(urls: Sequence[str]) -> str:
    """What is wrong with a list of sound URLs; nothing where they can be told apart."""
    places = list(map(place_of, urls))
    if twice := next((place for place in places if places.count(place) > 1), ""):
        return f"it names {twice} twice"
    if len({*map(mark_of, urls)}) < len(urls):  # 1 in 65,536 for each pair
        return "two of its shards have the same mark: name one of them by another host name or address"
    return ""


def by_home(name: str, marks: Iterable[str]) -> list[str]:
    """The shards in the order in which they are home to `name`: the first one is.

    Rendezvous hashing (Thaler & Ravishankar, 1998): where a shard comes or goes, only what it is home to moves.
    """
    weight = lambda mark: hashlib.blake2b(name.encode(), key=mark.encode(), digest_size=8).digest()  # noqa: E731
    return sorted(marks, key=weight, reverse=True)


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """What is known of the queue of one shard."""

    reserved_tokens: int
    tokens_per_s: float  # that its workers finish; 0: not known yet
    num_workers: int

    @property
    def wait_s(self) -> float:
        """Predicted: until all that is accepted is finished."""
        return self.reserved_tokens / (self.tokens_per_s or GUESSED_TOKENS_PER_S * max(1, self.num_workers))


def in_turn(loads: Sequence[tuple[T, QueueLoad]], draw: Callable[[Sequence[T], int], list[T]]) -> list[T]:
    """Which shard to try first, and which after it.

    The first is the one with the shorter wait of two that are drawn (`random.sample`). What is known of waits is a
    quarter of a second old, so the shortest of all would be that of every replica until the next look (Mitzenmacher,
    How useful is old information, 2000).
    """
    waits = {one: load.wait_s for one, load in loads}
    drawn = draw(list(waits), len(waits))
    first = min(drawn[:2], key=waits.__getitem__, default=None)
    return [one for one in (first,) if one is not None] + sorted(
        (one for one in drawn if one is not first), key=waits.__getitem__
    )
