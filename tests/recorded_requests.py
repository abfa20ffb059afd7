"""Helpers of the tests about requests that are kept to be found later."""

from __future__ import annotations

from redis import Redis

from worker.mailbox.protocol import Manner, Record


def a_record(request_id: str, key: str = "", *, digest: str = "same", is_async: bool = False) -> Record:
    return Record(request_id, "what was asked", "maker", digest, key, Manner.ASYNC if is_async else Manner.WAIT)


def counts(redis_url: str) -> dict[str, int]:
    """Of requests; without the sum of their times, and of the sentences of those refused."""
    with Redis.from_url(redis_url) as client:
        told = {name.decode(): int(value) for name, value in client.hgetall("miniserve:counts").items()}
    return {name: count for name, count in told.items() if name not in ("stay_us", "refused_sentences")}


def is_conserved(redis_url: str) -> bool:
    told = counts(redis_url)
    ended = sum(told.get(name, 0) for name in ("done", "failed", "cancelled", "expired", "removed"))
    with Redis.from_url(redis_url) as client:
        return told["accepted"] == ended + client.hlen("miniserve:reservations")
