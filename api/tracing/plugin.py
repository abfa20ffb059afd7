"""`X-Trace: 1`: the answer of POST /correct and POST /correct/batch has its waterfall.

Where spans are exported, a `traceparent` that is sampled asks for the same.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

from api.http.app import Api, Services
from api.http.incoming import IncomingRequest
from api.http.replies import Reply, text_reply
from api.service.exchange import Exchange
from api.tracing.waterfall import Waterfall


def add(app: Api, services: Services) -> None:
    """Add it to an application. Opens nothing, but where spans are exported."""
    export = None
    if services.settings.otel_endpoint:
        from api.tracing.spans import SpanExport

        export = SpanExport(services.settings.otel_endpoint)

    def begin(exchange: Exchange, request: IncomingRequest) -> None:
        is_sampled = export is not None and export.is_sampled(request.headers.get("traceparent", ""))
        if is_sampled or request.headers.get("x-trace") == "1":
            exchange.trace = Waterfall(exchange.received_s)

    def end(exchange: Exchange, request: IncomingRequest, reply: Reply) -> Reply:
        if exchange.trace is None or not exchange.is_answer or isinstance(reply.body, AsyncGenerator):
            return reply
        trace = exchange.trace.document(services.clock())
        if export is not None:
            export.note(request.headers.get("traceparent", ""), exchange, trace)
        text = reply.body[: reply.body.rindex(b"}")].decode() + f', "trace": {json.dumps(trace)}}}'
        return text_reply(text, reply.status, *reply.headers[2:])

    app.begins.append(begin)
    app.ends.append(end)
