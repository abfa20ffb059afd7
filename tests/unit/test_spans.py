"""The spans of a traced request, as OpenTelemetry's SDK gets them; tests/e2e sends some to a collector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from scheduler.settings import Settings
from tests.fake_mailbox import client_of

PARENT = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    with (
        patch("api.tracing.spans.OTLPSpanExporter", lambda **_: exporter),
        patch("api.tracing.spans.BatchSpanProcessor", lambda exporter, **_: SimpleSpanProcessor(exporter)),
    ):
        yield exporter


def corrected(headers: dict[str, str]) -> dict[str, Any]:
    client = client_of(settings=Settings(otel_endpoint="http://127.0.0.1:1"))
    return client.post("/correct", json={"sentence": "He goed home"}, headers=headers).get_json()


@pytest.mark.parametrize(
    ("headers", "parent"),
    [
        ({"traceparent": f"00-{PARENT}-01"}, PARENT),
        ({"X-Trace": "1"}, ""),
        ({"X-Trace": "1", "traceparent": f"00-{PARENT}-01-and-more"}, ""),
    ],
)
def test_a_traced_request_is_one_tree_below_its_parent_or_by_itself(
    spans: InMemorySpanExporter, headers: dict[str, str], parent: str
) -> None:
    answer = corrected(headers)

    *children, root = spans.get_finished_spans()
    assert "trace" in answer and root.attributes["miniserve.request_id"] == answer["request_id"]
    assert (root.name, root.resource.attributes["service.name"]) == ("POST /correct", "miniserve-api")
    assert (root.parent and f"{root.parent.trace_id:032x}-{root.parent.span_id:016x}" or "") == parent
    for span, stage in zip(children, answer["trace"]["stages"], strict=True):
        assert span.name == stage["name"]
        assert (span.parent.span_id, span.context.trace_id) == (root.context.span_id, root.context.trace_id)
        times_ns = span.start_time - root.start_time, span.end_time - span.start_time
        assert times_ns == tuple(round(1e6 * stage[name]) for name in ("start_ms", "duration_ms"))


@pytest.mark.parametrize("headers", [{}, {"traceparent": f"00-{PARENT}-00"}, {"traceparent": "x"}])
def test_no_other_request_is_traced(spans: InMemorySpanExporter, headers: dict[str, str]) -> None:
    assert "trace" not in corrected(headers)
    assert spans.get_finished_spans() == ()
