"""Who looks for an API process: at the queue in Redis, or at the one inside the process."""

from __future__ import annotations

from typing import Any, cast

from worker.mailbox.observing import Observer


def observer_of(mailbox: Any) -> Observer:
    """The mailbox itself, in the modes without a queue."""
    ask = getattr(mailbox, "ask", None)  # of one over Redis
    if ask is None:
        return cast(Observer, mailbox)
    from worker.mailbox.redis_observer import RedisObserver  # the modes without a queue load no redis

    return RedisObserver(ask)
