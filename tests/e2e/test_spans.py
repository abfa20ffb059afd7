"""Spans of requests, as an OpenTelemetry collector sees them: one tree a request, over both processes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.running_system import RunningSystem, post_json, post_sentence, send, wait_until
from tests.span_collector import Span, SpanCollector

JSON = {"Content-Type": "application/json"}
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
STEPS = ("queue", "prefill", "decode")


@pytest.fixture(scope="module")
def collector() -> Iterator[SpanCollector]:
    with SpanCollector() as collector:
        yield collector


@pytest.fixture(scope="module")
def system(collector: SpanCollector) -> Iterator[RunningSystem]:
    with RunningSystem("--otel-endpoint", collector.url) as running:
        yield running


def correct(system: RunningSystem, traceparent: str) -> str:
    headers = JSON | {"traceparent": traceparent}
    reply = send(system.url, "POST", "/correct", json.dumps({"sentence": "He goed home."}).encode(), headers)
    assert reply.status == 200
    return reply.body["request_id"]


def tree_of(collector: SpanCollector, request_id: str, num_spans: int = 7) -> list[Span]:
    """The server's span and all below it, once they are there."""

    def spans() -> list[Span]:
        roots = [span for span in collector.spans if span.facts.get("miniserve.request_id") == request_id]
        return roots and [*roots, *(span for span in collector.spans if span.parent_id == roots[0].span_id)]

    wait_until(lambda: len(spans()) >= num_spans, 10, f"{num_spans} spans")
    return spans()


def test_a_request_is_one_tree_of_spans_over_both_processes(system: RunningSystem, collector: SpanCollector) -> None:
    request_id = post_sentence(system.url, "He goed home.").body["request_id"]

    root, *children = tree_of(collector, request_id)

    named = {span.name: span for span in children}
    assert (root.name, root.service, root.parent_id) == ("POST /correct", "miniserve-api", "")
    assert set(named) == {"tokenize", "reserve", "deliver", *STEPS}
    assert {span.trace_id for span in children} == {root.trace_id}
    assert {named[name].service for name in STEPS} == {"miniserve-worker"}
    assert root.facts["http.response.status_code"] == 200
    assert len(named["decode"].events) == named["decode"].facts["output_tokens"] - 1
    worker = [named[name] for name in STEPS]
    assert all(one.end_s == pytest.approx(two.start_s, abs=1e-6) for one, two in zip(worker, worker[1:], strict=False))
    assert all(root.start_s - 0.05 <= span.start_s <= span.end_s <= root.end_s + 0.05 for span in children)


def test_the_tree_hangs_where_the_clients_header_says(system: RunningSystem, collector: SpanCollector) -> None:
    request_id = correct(system, f"00-{TRACE}-{PARENT}-01")

    root, *children = tree_of(collector, request_id)

    assert (root.trace_id, root.parent_id) == (TRACE, PARENT)
    assert {span.trace_id for span in children} == {TRACE}
    remote, own = 0x300, 0x100  # whether the parent is of another process, as OpenTelemetry's SDK says it
    wanted = dict.fromkeys(("POST /correct", *STEPS), remote) | dict.fromkeys(("tokenize", "reserve", "deliver"), own)
    assert {span.name: span.flags & 0x300 for span in (root, *children)} == wanted


def test_a_header_that_is_malformed_begins_a_trace_of_its_own(system: RunningSystem, collector: SpanCollector) -> None:
    request_id = correct(system, f"00-{TRACE}-{PARENT}-01-and-more")

    root, *_ = tree_of(collector, request_id)

    assert root.trace_id != TRACE and root.parent_id == ""


def test_what_the_client_does_not_sample_has_no_spans(system: RunningSystem, collector: SpanCollector) -> None:
    silent = correct(system, f"00-{TRACE}-{PARENT}-00")
    later = post_sentence(system.url, "He goed home.").body["request_id"]

    tree_of(collector, later)

    assert silent not in {span.facts.get("miniserve.request_id") for span in collector.spans}
    assert silent not in {span.facts.get("miniserve.job_id") for span in collector.spans}


def test_every_sentence_of_a_batch_has_its_branch(system: RunningSystem, collector: SpanCollector) -> None:
    reply = post_json(system.url, "/correct/batch", {"sentences": ["He goed home. She goed.", "They was late."]})

    _, *children = tree_of(collector, reply.body["request_id"], num_spans=1 + 3 + 3 * 3)

    jobs = [span.facts["miniserve.job_id"].partition("-")[2] for span in children if span.name == "decode"]
    assert sorted(jobs) == ["1-1", "1-2", "2"]


def test_a_key_brings_the_same_answer_whoever_traces_it(system: RunningSystem) -> None:
    body = json.dumps({"sentence": "He goed home."}).encode()

    replies = [
        send(system.url, "POST", "/correct", body, JSON | {"Idempotency-Key": "k", "traceparent": traceparent})
        for traceparent in (f"00-{TRACE}-{PARENT}-01", f"00-{PARENT}{PARENT}-{PARENT}-01", "no trace at all")
    ]

    assert [reply.status for reply in replies] == [200] * 3
    assert len({reply.body["request_id"] for reply in replies}) == 1


def test_a_collector_that_takes_nothing_costs_no_answer(system: RunningSystem, collector: SpanCollector) -> None:
    collector.is_refusing = True

    replies = [post_sentence(system.url, "He goed home.") for _ in range(5)]
    system.wait_for_line("the collector of spans takes none", 15)
    collector.is_refusing = False
    again = post_sentence(system.url, "He goed home.").body["request_id"]

    assert [reply.status for reply in replies] == [200] * 5
    assert tree_of(collector, again)
