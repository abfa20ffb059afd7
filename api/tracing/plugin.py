"""`X-Trace: 1`: the answer of POST /correct and POST /correct/batch has its waterfall.

Where spans are exported, a `traceparent` that is sampled asks for the same.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

from api.http.app import Api
from api.http.incoming import Environ, IncomingRequest
from api.http.replies import Reply, text_reply
from api.service.exchange import Exchange
from api.services import Services
from api.tracing.waterfall import Waterfall
from scheduler.errors import NotFound


def add(app: Api, services: Services) -> None:
    """Add it to an application. Opens nothing, but where spans are exported."""
    export = None
    if services.settings.otel_endpoint:
        from api.tracing.spans import SpanExport

        export = SpanExport(services.settings.otel_endpoint)

    def begin(exchange: Exchange, environ: Environ) -> None:
        is_sampled = export is not None and export.is_sampled(environ.get("HTTP_TRACEPARENT", ""))
        if is_sampled or environ.get("HTTP_X_TRACE") == "1":
            exchange.trace = Waterfall(exchange.received_s)

    def end(exchange: Exchange, environ: Environ, reply: Reply) -> Reply:
        if exchange.trace is None or not exchange.is_answer or isinstance(reply.body, AsyncGenerator):
            return reply
        trace = exchange.trace.document(services.clock())
        if export is not None:
            export.note(environ.get("HTTP_TRACEPARENT", ""), exchange, trace)
        text = reply.body[: reply.body.rindex(b"}")].decode() + f', "trace": {json.dumps(trace)}}}'
        return text_reply(text, reply.status, *reply.headers[2:])

    app.begins.append(begin)
    app.ends.append(end)

    @app.get("/requests/<request_id>/trace")
    async def refuse(_: Exchange, __: IncomingRequest, request_id: str) -> Reply:
        raise NotFound("Traces are not stored. Send a request with the header X-Trace: 1: its answer has its trace.")
