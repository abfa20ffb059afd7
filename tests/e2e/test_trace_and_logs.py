"""What a system tells of a request: spans for a collector, its line in the log, and never its text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.running_system import Reply, RunningSystem, post_json, post_sentence, send, wait_until
from tests.small_server import SmallServer, http

MARKER = "Quizzacious"
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def collector() -> Iterator[SmallServer]:
    """It refuses what it is sent first, which nobody sends again."""
    with SmallServer(lambda number: http(400 if number == 1 else 200, {})) as server:
        yield server


@pytest.fixture(scope="module")
def system(collector: SmallServer) -> Iterator[RunningSystem]:
    with RunningSystem("--otel-endpoint", collector.url, "--log-format", "json", "--log-level", "debug") as running:
        yield running


def test_spans_go_to_a_collector_and_one_that_refuses_costs_no_answer(
    system: RunningSystem, collector: SmallServer
) -> None:
    for number in (1, 2):
        reply = send(system.url, "POST", "/correct", b'{"sentence": "He goed home."}', JSON | {"X-Trace": "1"})
        wait_until(lambda number=number: collector.num_requests == number, 20, "its spans")

        assert reply.status == 200
        assert collector.received[-1].startswith(b"POST /v1/traces HTTP/1.1\r\n")
        assert reply.body["request_id"].encode() in collector.received[-1]


def line_of(system: RunningSystem, reply: Reply) -> dict[str, Any]:
    """Of one request."""
    request_id = reply.headers["X-Request-ID"]
    return json.loads(system.wait_for_line(rf'^.*"request_id": "{request_id}".*"event": "request".*$', 10).group())


def test_every_request_has_its_line_and_no_log_has_a_word_of_it(system: RunningSystem) -> None:
    texts = [f"{MARKER} goed home.", f"He {MARKER} \u00c9toile", MARKER * 3000, f"{MARKER}\u0000", ""]
    replies = [
        *(post_sentence(system.url, text) for text in texts),
        post_json(system.url, "/correct/batch", {"sentences": texts}),
        post_json(system.url, "/correct", {MARKER: MARKER}),
        send(system.url, "POST", "/correct", MARKER.encode(), JSON),
        send(system.url, "POST", f"/{MARKER}?{MARKER}={MARKER}", b"{}", JSON),
        send(system.url, "GET", f"/requests/{MARKER * 20}!/trace"),
        *(send(system.url, "GET", f"{path}?language=en&text={MARKER}+goed.") for path in ("/v2/check", "/v2/check/x")),
        *(send(system.url, "GET", f"/v2/check?{query}+goed.") for query in (MARKER, f"text={MARKER}{'x' * 9_000}")),
        send(system.url, "POST", f"/v2/check?text={MARKER}", b"language=en"),
        send(system.url, "POST", "/v2/check", f"text={MARKER} goed.&language=en".encode(), JSON),
        send(system.url, "POST", "/correct", json.dumps({"sentence": f"{MARKER} goed."}).encode(), JSON | {
            "Accept": "text/event-stream", "Idempotency-Key": f"{MARKER}-key",
        }),
    ]  # fmt: skip

    lines = [line_of(system, reply) for reply in replies]

    line = lines[0]
    assert [line["status"] for line in lines] == [reply.status for reply in replies]
    assert [line["outcome"] for line in lines[:2] + lines[6:8]] == ["answered"] * 2 + [
        "invalid-request",
        "malformed-json",
    ]
    assert [line["route"] for line in (lines[5], *lines[8:10])] == ["/correct/batch", "none", "none"]
    assert (line["event"], line["level"], line["process"], line["status"]) == ("request", "info", "api", 200)
    assert line["prompt_tokens"] > line["output_tokens"] > 0 and line["total_ms"] > 0
    assert [reply.status for reply in replies[10:16]] == [200, 404, 400, 400, 200, 200]
    assert MARKER.lower() not in (system.output() + send(system.url, "GET", "/metrics").body).lower()
    assert '"process": "worker"' in system.output()
