"""What a running system tells of a request: its waterfall from any replica, its line in the log, and never its text."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.running_system import Reply, RunningSystem, post_json, post_sentence, send, wait_until

MARKER = "Quizzacious"
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def system() -> Iterator[RunningSystem]:
    with RunningSystem("--log-format", "json", "--log-level", "debug") as running:
        yield running


def trace_of(system: RunningSystem, request_id: str, query: str = "") -> Reply:
    """Once it is there."""
    replies: list[Reply] = []

    def is_there() -> bool:
        replies.append(send(system.url, "GET", f"/requests/{request_id}/trace{query}"))
        return replies[-1].status != 202

    wait_until(is_there, 10, "the trace")
    return replies[-1]


def names(trace: Reply, sentence: int | None = None) -> list[str]:
    return [event["name"] for event in trace.body["events"] if event.get("sentence") == sentence]


def test_the_waterfall_of_a_request_is_told_from_its_beginning_to_its_end(system: RunningSystem) -> None:
    reply = post_sentence(system.url, "He goed to school and they was late.")

    trace = trace_of(system, reply.body["request_id"])

    (sentence,) = trace.body["sentences"]
    ends = {event["name"]: event["start_ms"] + event["duration_ms"] for event in trace.body["events"]}
    assert names(trace) == ["received", "tokenized", "reserved", "delivered"]
    assert names(trace, 1)[:3] == ["queued", "prefill", "decode"] and names(trace, 1)[-1] == "published"
    assert names(trace, 1).count("decode") == sentence["output_tokens"] - 1
    assert ends["received"] <= ends["tokenized"] <= ends["reserved"] <= ends["delivered"]
    assert ends["queued"] <= ends["prefill"] <= ends["decode"] <= ends["delivered"]
    timings = dict(part.split(";dur=") for part in reply.headers["Server-Timing"].split(", "))
    assert ends["delivered"] == pytest.approx(float(timings["total"]), abs=0.1)
    assert all(event["start_ms"] >= 0 and event["duration_ms"] >= 0 for event in trace.body["events"])


def test_a_batch_shows_all_of_its_sentences_side_by_side(system: RunningSystem) -> None:
    reply = post_json(system.url, "/correct/batch", {"sentences": ["He goed home. She goed too.", "", "They was."]})

    trace = trace_of(system, reply.body["request_id"])
    picture = trace_of(system, reply.body["request_id"], "?format=text").body

    assert [sentence["job_id"].partition("-")[2] for sentence in trace.body["sentences"]] == ["1-1", "1-2", "3"]
    assert all("decode" in names(trace, number) for number in (1, 2, 3))
    assert "sentence 3: " in picture and picture.count("prefill") == 3


def test_asynchronous_and_followed_requests_have_traces_too(system: RunningSystem) -> None:
    body = json.dumps({"sentence": "He goed home."}).encode()
    stream = send(system.url, "POST", "/correct", body, JSON | {"Accept": "text/event-stream"})
    later = send(system.url, "POST", "/correct", body, JSON | {"Prefer": "respond-async"})
    followed = trace_of(system, json.loads(stream.body.rpartition("data: ")[2])["request_id"])
    accepted = trace_of(system, later.body["request_id"])

    assert names(followed)[-1] == "delivered" and followed.body["is_complete"]
    assert names(accepted)[-1] == "acknowledged" and "decode" in names(accepted, 1)


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
    answered = replies[0].body["request_id"]

    line = json.loads(system.wait_for_line(rf'^.*"request_id": "{answered}".*"outcome": "answered".*$', 10).group())
    system.wait_for_line(r'"route": "/correct/batch"', 10)
    trace_of(system, answered)

    assert (line["event"], line["level"], line["process"], line["status"]) == ("request", "info", "api", 200)
    assert line["prompt_tokens"] > line["output_tokens"] > 0 and line["total_ms"] > 0
    assert [reply.status for reply in replies[10:16]] == [200, 404, 400, 400, 200, 200]
    assert MARKER.lower() not in (system.output() + send(system.url, "GET", "/metrics").body).lower()
    assert '"process": "worker"' in system.output()
