"""What clients get wrong: the right status and slug for each, over real HTTP, and nothing else disturbed."""

from __future__ import annotations

import json
import socket

import pytest

from tests.running_system import RunningSystem, post_sentence, send

JSON = {"Content-Type": "application/json"}


def _body(sentence: object) -> bytes:
    return json.dumps({"sentence": sentence}).encode()


BAD_BODIES = {
    "no body": (b"", 400, "malformed-json"),
    "broken JSON": (b'{"sentence": "He goed', 400, "malformed-json"),
    "bytes that are no UTF-8": (b'{"sentence": "\xff\xfe"}', 400, "malformed-json"),
    "NaN": (b'{"sentence": NaN}', 400, "malformed-json"),
    "100,000 brackets": (b"[" * 100_000, 400, "malformed-json"),
    "a list": (b'["He goed to school"]', 422, "invalid-request"),
    "no sentence": (b"{}", 422, "invalid-request"),
    "a number": (_body(7), 422, "invalid-request"),
    "null": (_body(None), 422, "invalid-request"),
    "a list of sentences": (_body(["He goed"]), 422, "invalid-request"),
    "an empty sentence": (_body(""), 422, "invalid-request"),
    "blanks": (_body(" \t\n "), 422, "invalid-request"),
    "NUL": (_body("He \x00 goed"), 422, "invalid-request"),
    "an escape character": (_body("\x1b[31mHe goed"), 422, "invalid-request"),
    "a lone surrogate": (b'{"sentence": "He \\ud800 goed"}', 422, "invalid-request"),
    "a learner id that is too long": (
        json.dumps({"sentence": "He goed", "learner_id": "x" * 65}).encode(),
        422,
        "invalid-request",
    ),
    "10,000 words": (_body("word " * 10_000), 422, "sentence-too-long"),
    "65 words": (_body("word " * 65), 422, "sentence-too-long"),
    "64 words of many tokens": (_body("Llanfairpwllgwyngyll " * 64), 422, "sentence-too-long"),
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_a_bad_body_gets_its_status_and_slug(system: RunningSystem, name: str) -> None:
    body, status, slug = BAD_BODIES[name]

    reply = send(system.url, "POST", "/correct", body, JSON)

    assert (reply.status, reply.slug) == (status, slug)
    assert reply.headers["Content-Type"] == "application/problem+json"
    assert reply.body["status"] == status and reply.body["detail"]


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"])
def test_another_content_type_is_415(system: RunningSystem, media_type: str) -> None:
    headers = {"Content-Type": media_type} if media_type else {}

    assert send(system.url, "POST", "/correct", _body("He goed"), headers).slug == "unsupported-media-type"


@pytest.mark.parametrize("media_type", ["application/json; charset=utf-8", "Application/JSON"])
def test_json_in_another_spelling_is_json(system: RunningSystem, media_type: str) -> None:
    assert send(system.url, "POST", "/correct", _body("He goed"), {"Content-Type": media_type}).status == 200


def test_a_body_of_10_mb_is_413_and_the_client_can_read_it(system: RunningSystem) -> None:
    reply = send(system.url, "POST", "/correct", _body("a" * 10_000_000), JSON)

    assert (reply.status, reply.slug) == (413, "body-too-large")


def test_a_path_or_method_that_does_not_exist_is_a_problem_too(system: RunningSystem) -> None:
    assert send(system.url, "GET", "/nothing").slug == "not-found"
    assert send(system.url, "GET", "/correct").slug == "method-not-allowed"
    assert send(system.url, "DELETE", "/healthz").slug == "method-not-allowed"


def test_a_header_that_cannot_be_echoed_is_400(system: RunningSystem) -> None:
    reply = send(system.url, "POST", "/correct", _body("He goed"), {**JSON, "X-Request-ID": "x" * 129})

    assert (reply.status, reply.slug) == (400, "invalid-header")


def test_a_client_that_hangs_up_in_the_middle_disturbs_nobody(system: RunningSystem) -> None:
    for part in (
        b"POST /corr",
        b"POST /correct HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
        b"\x16\x03\x01\x00",
    ):
        with socket.create_connection(("127.0.0.1", system.port), timeout=5) as connection:
            connection.sendall(part)

    assert post_sentence(system.url, "He went home.").status == 200
