"""What a system tells of a request: spans for a collector, its waterfall, its line in the log, and never its text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.running_system import Reply, RunningSystem, post_json, post_sentence, send, wait_until
from tests.span_collector import Span, SpanCollector

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
STAGES = ["received", "queue", "prefill", "decode", "publish", "conclude"]
MARKER = "Quizzacious"
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def collector() -> Iterator[SpanCollector]:
    with SpanCollector() as collector:
        yield collector


@pytest.fixture(scope="module")
def system(collector: SpanCollector) -> Iterator[RunningSystem]:
    with RunningSystem("--otel-endpoint", collector.url, "--log-format", "json", "--log-level", "debug") as running:
        yield running


def correct(system: RunningSystem, **headers: str) -> tuple[str, bool]:
    """The id of the request, and whether its answer has a trace."""
    body, asked = json.dumps({"sentence": "He goed home."}).encode(), JSON | headers
    reply = send(system.url, "POST", "/correct", body, asked)
    assert reply.status == 200
    return reply.body["request_id"], "trace" in reply.body


def tree_of(collector: SpanCollector, request_id: str) -> list[Span]:
    """The server's span and all below it, once they are there."""

    def spans() -> list[Span]:
        roots = [span for span in collector.spans if span.facts.get("miniserve.request_id") == request_id]
        return roots and [*roots, *(span for span in collector.spans if span.parent_id == roots[0].span_id)]

    wait_until(lambda: len(spans()) == 1 + len(STAGES), 20, "its spans")
    return spans()


def test_a_request_with_a_sampled_parent_is_one_tree_below_it(system: RunningSystem, collector: SpanCollector) -> None:
    request_id, has_trace = correct(system, traceparent=f"00-{TRACE}-{PARENT}-01")

    root, *children = tree_of(collector, request_id)

    assert has_trace
    assert (root.name, root.service) == ("POST /correct", "miniserve-api")
    assert (root.trace_id, root.parent_id) == (TRACE, PARENT)
    assert sorted(span.name for span in children) == sorted(STAGES)
    assert {span.trace_id for span in children} == {TRACE}
    assert all(root.start_s - 1e-6 <= span.start_s <= span.end_s <= root.end_s + 1e-6 for span in children)


def test_a_request_that_asks_for_its_trace_begins_a_tree_of_its_own(
    system: RunningSystem, collector: SpanCollector
) -> None:
    request_id, _ = correct(system, **{"X-Trace": "1", "traceparent": f"00-{TRACE}-{PARENT}-01-and-more"})

    root, *_ = tree_of(collector, request_id)

    assert root.trace_id != TRACE and root.parent_id == ""


def test_no_other_request_is_traced(system: RunningSystem, collector: SpanCollector) -> None:
    silent = [correct(system), correct(system, traceparent=f"00-{TRACE}-{PARENT}-00"), correct(system, traceparent="x")]
    later, _ = correct(system, **{"X-Trace": "1"})

    tree_of(collector, later)

    assert [has_trace for _, has_trace in silent] == [False] * 3
    assert {name for name, _ in silent}.isdisjoint(span.facts.get("miniserve.request_id") for span in collector.spans)


def test_a_collector_that_takes_nothing_costs_no_answer(system: RunningSystem, collector: SpanCollector) -> None:
    collector.is_refusing = True

    for _ in range(5):
        correct(system, **{"X-Trace": "1"})
    collector.is_refusing = False
    again, _ = correct(system, **{"X-Trace": "1"})

    assert tree_of(collector, again)


def ended_ms(stage: dict[str, Any]) -> float:
    return stage["start_ms"] + stage["duration_ms"]


def test_a_request_that_asks_has_its_waterfall_in_its_answer_and_no_other_has(system: RunningSystem) -> None:
    body = json.dumps({"sentence": "He goed to school and they was late. She go home."}).encode()
    traced = send(system.url, "POST", "/correct", body, JSON | {"X-Trace": "1"})
    plain = send(system.url, "POST", "/correct", body, JSON)

    trace = traced.body.pop("trace")
    assert traced.body | {"request_id": ""} == plain.body | {"request_id": ""}
    received, *stages, conclude = trace["stages"]
    assert (received["name"], received["start_ms"], conclude["name"]) == ("received", 0.0, "conclude")
    assert ended_ms(conclude) == pytest.approx(trace["total_ms"], abs=0.01)
    for number in (1, 2):
        own = [stage for stage in stages if stage["sentence"] == number]
        assert [stage["name"] for stage in own] == ["queue", "prefill", "decode", "publish"]
        assert own[2]["output_tokens"] > 1
        for one, two in pairwise((received, *own, conclude)):
            assert ended_ms(one) == pytest.approx(two["start_ms"], abs=0.01)
    timings = dict(part.split(";dur=") for part in traced.headers["Server-Timing"].split(", "))
    for name in ("queue", "prefill", "decode"):
        longest = max(stage["duration_ms"] for stage in stages if stage["name"] == name)
        assert longest == pytest.approx(float(timings[name]), abs=0.1)
    assert trace["total_ms"] == pytest.approx(float(timings["total"]), rel=0.5)


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
