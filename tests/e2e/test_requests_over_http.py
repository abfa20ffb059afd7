"""Asking again for an answer: by its id, by its key, from another replica."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis

from tests.running_system import ApiProcess, Reply, RunningSystem, send

TEXT = "He goed to school. They was at home."
CORRECTED = "He went to school. They were at home."
ODD = ["\udc00", {"a": ["x" * 5000]}, 1e300, "word " * 70, TEXT]


@pytest.fixture(scope="module")
def second(system: RunningSystem) -> Iterator[ApiProcess]:
    """Another replica on the same Redis."""
    with ApiProcess(system.redis_url) as process:
        yield process


def post(url: str, body: bytes | dict[str, Any], path: str = "/correct", **headers: str) -> Reply:
    told = {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    return send(url, "POST", path, body if isinstance(body, bytes) else json.dumps(body).encode(), told)


def without_ids(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item | {"request_id": ""} for item in items]


def test_an_answer_with_a_key_is_told_again_by_any_replica_and_what_was_refused_is_not_stored(
    system: RunningSystem, second: ApiProcess
) -> None:
    reply = post(system.url, {"sentences": ODD}, "/correct/batch", Idempotency_Key="odd")
    again = send(second.url, "GET", f"/requests/{reply.body['request_id']}")

    told, found = reply.body["results"], again.body["results"]
    assert [item.get("status", item.get("corrected")) for item in told] == [422, 422, 422, 422, CORRECTED]
    assert without_ids(found) == without_ids(told) and found[-1] == told[-1]
    with Redis.from_url(system.redis_url) as client:
        assert client.memory_usage(f"miniserve:request:{reply.body['request_id']}") < 3000


def test_the_same_key_and_body_get_the_same_answer_from_another_replica(
    system: RunningSystem, second: ApiProcess
) -> None:
    first = post(system.url, {"sentence": TEXT}, Idempotency_Key="same-key")
    spaced = post(second.url, b'{ "sentence" :"' + TEXT.encode() + b'"}', Idempotency_Key="same-key")

    other = post(second.url, {"sentence": TEXT, "learner_id": "anna"}, Idempotency_Key="same-key")

    assert (first.status, spaced.status) == (200, 200)
    assert spaced.body == first.body == send(second.url, "GET", f"/requests/{first.body['request_id']}").body
    assert spaced.headers["X-Request-ID"] == first.body["request_id"]
    assert (other.status, other.slug) == (409, "idempotency-conflict")
