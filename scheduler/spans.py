"""The place of a request in the trace of a larger system, by W3C's Trace Context, and what takes its spans.

Nothing here exports spans; `ops` does, where it is switched on.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

# A later version may add fields behind a dash; of our own, 00, there are exactly four.
_TRACEPARENT = re.compile(r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED = 1


class TraceContext(NamedTuple):
    """One span of one trace."""

    trace_id: str  # 32 hexadecimal digits
    span_id: str  # 16
    is_sampled: bool = True
    parent_span_id: str = ""  # '' : it begins the trace

    def traceparent(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.is_sampled else '00'}"


def parse_traceparent(header: str | None) -> TraceContext | None:
    """None for a header that is not of this form: a client's mistake must not cost it the answer."""
    found = _TRACEPARENT.fullmatch(header) if header else None
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == "00" and more is not None:
        return None
    return TraceContext(trace_id, span_id, bool(int(flags, 16) & _SAMPLED))


class SpanSink(Protocol):
    """Takes what spans are made of, at once and without waiting; `run` is the target of a thread that exports them."""

    def begin(self, header: str | None) -> TraceContext | None:
        """The span of a request that has just come, under what its `traceparent` says; None: it is not to be traced."""

    def note_request(self, context: TraceContext, name: str, request_id: str, text: str) -> None:
        """It is over. `text`: as `RequestPart` reads it."""

    def note_sequence(self, traceparent: str, request_id: str, text: str, ended_at_s: float) -> None:
        """One of its jobs is over. `text`: as `SequencePart` reads it; the time is since 1970."""

    def run(self) -> None:
        """Export, for ever."""

    @property
    def has_spans(self) -> bool:
        """Whether some are still to be exported."""
