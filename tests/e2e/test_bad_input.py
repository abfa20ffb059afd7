"""What clients get wrong: the right status and slug for each, over real HTTP, and nothing else disturbed."""

from __future__ import annotations

import json
import socket

import pytest

from tests.running_system import RunningSystem, post_sentence, send

JSON = {"Content-Type": "application/json"}


def _body(sentence: object) -> bytes:
    return json.dumps({"sentence": sentence}).encode()


# One of each kind; tests/unit/test_bad_requests.py has the spellings.
BAD_BODIES = {
    "broken JSON": (b'{"sentence": "He goed', 400, "malformed-json"),
    "bytes that are no UTF-8": (b'{"sentence": "\xff\xfe"}', 400, "malformed-json"),
    "100,000 brackets": (b"[" * 100_000, 400, "malformed-json"),
    "no sentence": (b"{}", 422, "invalid-request"),
    "a number": (_body(7), 422, "invalid-request"),
    "an escape character": (_body("\x1b[31mHe goed"), 422, "invalid-request"),
    "a lone surrogate": (b'{"sentence": "He \\ud800 goed"}', 422, "invalid-request"),
    "10,000 words": (_body("word " * 10_000), 422, "sentence-too-long"),
    "64 words of many tokens": (_body("Llanfairpwllgwyngyll " * 64), 422, "sentence-too-long"),
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_a_bad_body_gets_its_status_and_slug(system: RunningSystem, name: str) -> None:
    body, status, slug = BAD_BODIES[name]

    reply = send(system.url, "POST", "/correct", body, JSON)

    assert (reply.status, reply.slug) == (status, slug)
    assert reply.headers["Content-Type"] == "application/problem+json"
    assert reply.body["status"] == status and reply.body["detail"]


def test_a_body_of_10_mb_is_413_and_the_client_can_read_it(system: RunningSystem) -> None:
    reply = send(system.url, "POST", "/correct", _body("a" * 10_000_000), JSON)

    assert (reply.status, reply.slug) == (413, "body-too-large")


def test_a_path_or_method_that_does_not_exist_is_a_problem_too(system: RunningSystem) -> None:
    assert send(system.url, "GET", "/nothing").slug == "not-found"
    assert send(system.url, "GET", "/correct").slug == "method-not-allowed"
    assert send(system.url, "DELETE", "/healthz").slug == "method-not-allowed"


def test_a_client_that_hangs_up_in_the_middle_disturbs_nobody(system: RunningSystem) -> None:
    for part in (
        b"POST /corr",
        b"POST /correct HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
        b"\x16\x03\x01\x00",
    ):
        with socket.create_connection(("127.0.0.1", system.port)) as connection:
            connection.sendall(part)

    assert post_sentence(system.url, "He went home.").status == 200
