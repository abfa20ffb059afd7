"""Learners over real replicas: counted once, by all of them, also where one is killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import pytest
from redis import Redis

from tests.running_system import (
    ApiProcess,
    Reply,
    Server,
    all_at_once,
    real_worker,
    send,
    wait_until,
)


@pytest.fixture(scope="module")
def replicas(redis_server: object) -> Iterator[list[ApiProcess]]:
    url = redis_server.url
    with Redis.from_url(url) as client:
        client.flushall()
    with real_worker(url), all_at_once(ApiProcess(url), ApiProcess(url)) as (one, other):
        one.wait_until_ready(40)
        other.wait_until_ready()
        yield [one, other]


def correct(replica: Server, learner_id: str, **headers: str) -> Reply:
    document = {"sentence": "He goed home. She have left.", "learner_id": learner_id}
    asked = {"Content-Type": "application/json", **headers}
    return send(replica.url, "POST", "/correct", json.dumps(document).encode(), asked)


def learner(replica: Server, learner_id: str) -> Reply:
    return send(replica.url, "GET", f"/learners/{quote(learner_id, safe='')}")


def corrections(replica: Server, learner_id: str) -> int:
    reply = learner(replica, learner_id)
    return reply.body["corrections"] if reply.status == 200 else 0


def settled(replica: ApiProcess, learner_id: str, number: int) -> bool:
    """Whether so many are counted, and no more when a later answer of the same replica is."""
    later = f"{learner_id}-{urlsplit(replica.url).port}"
    wait_until(lambda: corrections(replica, learner_id) >= number, 5, f"{number} corrections")
    correct(replica, later)
    wait_until(lambda: corrections(replica, later) == 1, 5, "the report after it")
    return corrections(replica, learner_id) == number


def test_every_replica_adds_to_one_count_and_shows_it(replicas: list[ApiProcess]) -> None:
    learner_id = "../caf\u00e9 \U0001f600%2F?a=b#c"  # any text is one
    for replica in replicas:
        assert correct(replica, learner_id).status == 200

    for replica in replicas:
        assert settled(replica, learner_id, 2)
    told = learner(replicas[0], learner_id).body
    reasons = told["reasons"]
    assert told["learner_id"] == learner_id
    assert ("irregular_past", 2, ["go"]) in [(one["reason"], one["count"], one["verbs"]) for one in reasons]


@pytest.mark.parametrize(
    "how", [{"Idempotency-Key": "one"}, {"Prefer": "respond-async"}, {"Accept": "text/event-stream"}], ids=str
)
def test_an_answer_counts_once_however_often_it_is_asked_for(replicas: list[ApiProcess], how: dict[str, str]) -> None:
    learner_id = next(iter(how))
    reply = correct(replicas[0], learner_id, **how)
    if "Idempotency-Key" in how:
        assert correct(replicas[1], learner_id, **how).status == 200
    path = f"/requests/{reply.headers['X-Request-ID']}"
    for replica in replicas * 2 if "Accept" not in how else ():
        wait_until(lambda replica=replica: send(replica.url, "GET", path).status == 200, 10, "the answer")

    assert settled(replicas[0], learner_id, 1) and settled(replicas[1], learner_id, 1)


def test_a_batch_with_one_good_text_counts_once_however_often_it_is_fetched(replicas: list[ApiProcess]) -> None:
    learner_id = "batch"
    document = json.dumps({"sentences": ["He goed home.", ""], "learner_id": learner_id}).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": learner_id}
    reply = send(replicas[0].url, "POST", "/correct/batch", document, headers)

    for number, replica in enumerate(replicas):
        assert send(replica.url, "GET", f"/requests/{reply.body['request_id']}").status == 200
        assert settled(replica, f"{learner_id}-{number}", 0)  # what this replica has counted is reported

    assert corrections(replicas[0], learner_id) == 1


def test_a_learner_is_forgotten_on_every_replica_and_no_text_is_kept(
    replicas: list[ApiProcess], redis_server: object
) -> None:
    correct(replicas[0], "emma")
    settled(replicas[1], "emma", 1)
    with Redis.from_url(redis_server.url) as client:
        words = str([client.hgetall(name) for name in client.scan_iter("miniserve:learner:*")])
        assert "goed" not in words and "emma" not in words and "left" not in words

    assert send(replicas[1].url, "DELETE", "/learners/emma").status == 200

    assert [corrections(replica, "emma") for replica in replicas] == [0, 0]
