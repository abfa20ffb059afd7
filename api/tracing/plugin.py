"""`X-Trace: 1`: the answer of POST /correct and POST /correct/batch has its waterfall.

Where spans are exported, a `traceparent` that is sampled asks for the same.
"""

from __future__ import annotations

import json

from flask import Response, g, request

from api.http.app import Api
from api.services import Services
from api.tracing.waterfall import Waterfall
from scheduler.errors import NotFound


def add(app: Api, services: Services) -> None:
    """Add it to an application. Opens nothing, but where spans are exported."""
    export = None
    app.corrections.flask_headers.add("HTTP_X_TRACE")
    if services.settings.otel_endpoint:
        from api.tracing.spans import SpanExport

        export = SpanExport(services.settings.otel_endpoint)
        app.corrections.flask_headers.add("HTTP_TRACEPARENT")

    @app.before_request
    def begin() -> None:
        is_sampled = export is not None and export.is_sampled(request.headers.get("traceparent", ""))
        if is_sampled or request.headers.get("X-Trace") == "1":
            waterfall = g.waterfall = Waterfall(g.exchange.received_s)
            g.exchange.on_answers = lambda exchange, completions: waterfall.note_answers(
                completions, exchange.sent_s, services.clock(), exchange.has_own_jobs
            )

    @app.after_request
    def end(response: Response) -> Response:
        exchange = g.exchange
        if "waterfall" not in g or not exchange.is_answer or response.is_streamed:
            return response
        trace = g.waterfall.document(services.clock())
        body = response.get_data()
        response.set_data(body[: body.rindex(b"}")] + f', "trace": {json.dumps(trace)}}}\n'.encode())
        if export is not None:
            export.note(request.headers.get("traceparent", ""), exchange, trace)
        return response

    @app.get("/requests/<request_id>/trace")
    def refuse(request_id: str) -> Response:
        raise NotFound("Traces are not stored. Send a request with the header X-Trace: 1: its answer has its trace.")
