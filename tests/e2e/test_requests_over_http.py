"""Asking again for an answer: by its id, by its key, from another replica, and calling it off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis

from tests.mailbox_house import eventually
from tests.running_system import ApiProcess, Reply, RunningSystem, post_json, send

TEXT = "He goed to school. They was at home."
CORRECTED = "He went to school. They were at home."


@pytest.fixture(scope="module")
def second(system: RunningSystem) -> Iterator[ApiProcess]:
    """Another replica on the same Redis."""
    with ApiProcess(system.redis_url) as process:
        yield process


def post(url: str, document: dict[str, Any], path: str = "/correct", **headers: str) -> Reply:
    told = {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    return send(url, "POST", path, json.dumps(document).encode(), told)


def test_an_answer_with_a_key_can_be_fetched_again_from_any_replica(system: RunningSystem, second: ApiProcess) -> None:
    for path, document in (("/correct", {"sentence": TEXT}), ("/correct/batch", {"sentences": [TEXT, 5, "She sing."]})):
        reply = post(system.url, document, path, Idempotency_Key=f"of {path}")
        again = send(second.url, "GET", f"/requests/{reply.body['request_id']}")

        assert (again.status, again.body) == (200, reply.body)


def test_an_asynchronous_request_answers_at_once_and_its_answer_is_fetched_later(
    system: RunningSystem, second: ApiProcess
) -> None:
    accepted = post(system.url, {"sentence": TEXT}, Prefer="respond-async")

    location = accepted.headers["Location"]
    reply = eventually(lambda: (got := send(second.url, "GET", location)).status == 200 and got)

    assert (accepted.status, accepted.body["status"], accepted.headers["Preference-Applied"]) == (
        202, "queued", "respond-async"
    )  # fmt: skip
    assert (reply.body["corrected"], reply.body["request_id"]) == (CORRECTED, accepted.body["request_id"])
    assert location == f"/requests/{accepted.body['request_id']}"


def test_an_asynchronous_batch_keeps_its_refused_items(system: RunningSystem) -> None:
    accepted = post(system.url, {"sentences": ["", TEXT]}, "/correct/batch", Prefer="wait=5, respond-async")

    reply = eventually(lambda: (got := send(system.url, "GET", accepted.headers["Location"])).status == 200 and got)

    assert [item.get("status", item.get("corrected")) for item in reply.body["results"]] == [422, CORRECTED]


def test_the_same_key_and_body_get_the_same_answer_from_another_replica(
    system: RunningSystem, second: ApiProcess
) -> None:
    first = post(system.url, {"sentence": TEXT}, Idempotency_Key="same-key")
    spaced = send(
        second.url, "POST", "/correct", b'{ "sentence" :"' + TEXT.encode() + b'"}',
        {"Content-Type": "application/json", "Idempotency-Key": "same-key"},
    )  # fmt: skip

    other = post(second.url, {"sentence": TEXT, "learner_id": "anna"}, Idempotency_Key="same-key")

    assert (first.status, spaced.status) == (200, 200)
    assert spaced.body == first.body
    assert spaced.headers["X-Request-ID"] == first.body["request_id"]
    assert (other.status, other.slug) == (409, "idempotency-conflict")


def test_the_answer_of_a_plain_request_is_not_kept(system: RunningSystem) -> None:
    request_id = post_json(system.url, "/correct", {"sentence": TEXT}).body["request_id"]

    reply = send(system.url, "GET", f"/requests/{request_id}")

    assert (reply.status, reply.slug) == (404, "not-found")
    assert "Idempotency-Key" in reply.body["detail"]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("request_id", ["0" * 32, "a:b", "%20", "x" * 300])
def test_an_unknown_request_is_not_found(system: RunningSystem, method: str, request_id: str) -> None:
    reply = send(system.url, method, f"/requests/{request_id}")

    assert (reply.status, reply.slug) == (404, "not-found")


def test_a_finished_request_cannot_be_called_off_any_more(system: RunningSystem) -> None:
    request_id = post(system.url, {"sentence": TEXT}, Idempotency_Key="done").body["request_id"]

    reply = send(system.url, "DELETE", f"/requests/{request_id}")

    assert (reply.status, reply.body) == (200, {"request_id": request_id, "status": "done"})
    assert send(system.url, "GET", f"/requests/{request_id}").status == 200


def test_a_stream_tells_the_edits_and_ends_in_the_answer(system: RunningSystem) -> None:
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream", "Idempotency-Key": "stream"}
    reply = send(system.url, "POST", "/correct", json.dumps({"sentence": TEXT}).encode(), headers)

    lines = [line for line in reply.body.splitlines() if line.startswith(("event", "data"))]
    names = [line.removeprefix("event: ") for line in lines[::2]]
    documents = [json.loads(line.removeprefix("data: ")) for line in lines[1::2]]

    assert names == ["edit", "edit", "done"]
    assert sorted(documents[:2], key=lambda edit: edit["start"]) == documents[2]["edits"]
    assert documents[2]["corrected"] == CORRECTED
    assert send(system.url, "GET", f"/requests/{documents[2]['request_id']}").body == documents[2]


def test_a_batch_of_refused_items_is_answered_at_once_and_not_kept(system: RunningSystem) -> None:
    reply = post(system.url, {"sentences": ["", {"a": "x" * 1000}]}, "/correct/batch", Prefer="respond-async")

    assert [item["status"] for item in reply.body["results"]] == [422, 422]
    assert send(system.url, "GET", f"/requests/{reply.body['request_id']}").status == 404


def test_what_was_refused_of_a_batch_is_not_stored_and_told_again(system: RunningSystem) -> None:
    odd = ["\udc00", {"a": ["x" * 5000]}, 1e300, "word " * 70, "He goed."]
    reply = post(system.url, {"sentences": odd}, "/correct/batch", Idempotency_Key="odd")
    again = send(system.url, "GET", f"/requests/{reply.body['request_id']}")

    assert [item.get("status") for item in reply.body["results"]] == [422, 422, 422, 422, None]
    assert [item | {"request_id": ""} for item in again.body["results"]] == [
        item | {"request_id": ""} for item in reply.body["results"]
    ]
    with Redis.from_url(system.redis_url) as client:
        assert client.memory_usage(f"miniserve:request:{reply.body['request_id']}") < 3000
