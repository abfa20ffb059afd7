"""W3C Trace Context, read strictly; and the message that carries it through the queue."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from ops.cli import main
from ops.run import spans
from scheduler.errors import SettingsError
from scheduler.messages import CorrectionRequest
from scheduler.settings import Settings
from scheduler.spans import TraceContext, parse_traceparent

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
REQUEST = CorrectionRequest("id1", (70, 2), (1, 0), 32, "abcd")
TRACED = replace(REQUEST, traceparent=f"00-{TRACE}-{SPAN}-01")


def test_a_header_comes_back_as_it_was_written() -> None:
    context = TraceContext(TRACE, SPAN, is_sampled=True)

    assert parse_traceparent(context.traceparent()) == context
    assert parse_traceparent(f"00-{TRACE}-{SPAN}-00") == context._replace(is_sampled=False)


def test_a_later_version_may_say_more() -> None:
    assert parse_traceparent(f"01-{TRACE}-{SPAN}-03-more") == TraceContext(TRACE, SPAN)


@pytest.mark.parametrize(
    "header",
    [
        None, "", "00", "\u0660" * 55, f"00-{TRACE}-{SPAN}", f"00-{TRACE}-{SPAN}-01-x", f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-0g", f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01", f" 00-{TRACE}-{SPAN}-01",
        f"00-{TRACE.upper()}-{SPAN}-01", f"00-{TRACE}-{SPAN}-01\n", f"00-{TRACE}0-{SPAN}-01",
        f"01-{TRACE}-{SPAN}-01more",
    ],
)  # fmt: skip
def test_anything_else_is_no_trace_context(header: str | None) -> None:
    assert parse_traceparent(header) is None


def test_a_message_carries_it_to_a_worker() -> None:
    assert CorrectionRequest.from_wire(TRACED.to_wire()) == TRACED


def test_a_message_without_one_is_as_it_always_was() -> None:
    assert "traceparent" not in REQUEST.to_wire()


def test_spans_are_off_by_default_and_in_the_modes_without_a_queue() -> None:
    assert spans.span_export(Settings(), "api") is None
    assert spans.span_export(Settings(otel_endpoint="http://127.0.0.1:1", mode="sync"), "api") is None


@pytest.mark.parametrize("command", [["worker", "--redis-url", "redis://127.0.0.1:1"], ["up"]])
def test_without_the_packages_it_is_said_which_to_install(command: list[str]) -> None:
    with patch("ops.run.spans.find_spec", return_value=None):
        done = CliRunner().invoke(main, [*command, "--otel-endpoint", "http://127.0.0.1:1"])

    assert done.exit_code == 2
    assert "MINISERVE_OTEL_ENDPOINT" in done.output and "pip install '.[otel]'" in done.output


def test_an_endpoint_that_is_no_url_is_refused() -> None:
    with pytest.raises(SettingsError, match="MINISERVE_OTEL_ENDPOINT is 'localhost:4318'; it must begin with http"):
        Settings(otel_endpoint="localhost:4318")


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0), (1.0, 50)])
def test_a_share_of_the_requests_is_traced_and_a_client_that_decides_is_obeyed(share: float, expected: int) -> None:
    export = spans.SpanExport("http://127.0.0.1:1", "api", share)

    begun = [export.begin(None) for _ in range(50)]

    assert sum(context is not None for context in begun) == expected
    assert export.begin(f"00-{TRACE}-{SPAN}-01").parent_span_id == SPAN
    assert export.begin(f"00-{TRACE}-{SPAN}-00") is None
