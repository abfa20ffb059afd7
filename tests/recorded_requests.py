"""Helpers of the tests about requests that are kept to be found later."""

from __future__ import annotations

import json

from redis import Redis

from worker.queue.protocol import ReplyMode, Submission

ASKED = {"sentence": "what was asked"}
_OTHERS = (
    "stay_us", "law_us", "reserved_tokens", "reserved_requests", "service_rate", "refused_sentences",
    "used_memory", "max_memory", "takers",
)  # fmt: skip


def a_record(
    request_id: str,
    key: str = "",
    *,
    digest: str = "same",
    is_async: bool = False,
    is_followed: bool = False,
    client: str = "",
    limits: str = "",
) -> Submission:
    manner = ReplyMode.ASYNC if is_async else ReplyMode.FOLLOW if is_followed else ReplyMode.WAIT
    document = json.dumps(ASKED) if key or is_async else ""
    return Submission(request_id, document, "maker", digest, key, manner, client, limits)


def counts(redis_url: str) -> dict[str, int]:
    """How many requests ended how; without their times and tokens, and the sentences of those refused."""
    with Redis.from_url(redis_url) as client:
        told = {name.decode(): int(float(value)) for name, value in client.hgetall("miniserve:counts").items()}
    return {name: count for name, count in told.items() if name not in _OTHERS}
