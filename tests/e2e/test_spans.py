"""Spans of requests, as an OpenTelemetry collector sees them: one tree for each request that is traced."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.running_system import RunningSystem, send, wait_until
from tests.span_collector import Span, SpanCollector

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
STAGES = ["received", "queue", "prefill", "decode", "publish", "conclude"]


@pytest.fixture(scope="module")
def collector() -> Iterator[SpanCollector]:
    with SpanCollector() as collector:
        yield collector


@pytest.fixture(scope="module")
def system(collector: SpanCollector) -> Iterator[RunningSystem]:
    with RunningSystem("--otel-endpoint", collector.url) as running:
        yield running


def correct(system: RunningSystem, **headers: str) -> tuple[str, bool]:
    """The id of the request, and whether its answer has a trace."""
    body, asked = json.dumps({"sentence": "He goed home."}).encode(), {"Content-Type": "application/json", **headers}
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
