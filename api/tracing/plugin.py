"""`X-Trace: 1`: the answer of POST /correct and POST /correct/batch has its waterfall.

Where spans are exported, a `traceparent` that is sampled asks for the same.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from flask import Response, g, request

from api.http.app import Api
from api.service.exchange import Exchange
from api.tracing.waterfall import Waterfall
from scheduler.errors import NotFound
from scheduler.messages import Completion


@dataclass(slots=True)
class TracedExchange(Exchange):
    """Takes the place of the exchange of a request that asks."""

    waterfall: Waterfall = field(init=False)

    def __post_init__(self) -> None:
        self.waterfall = Waterfall(self.received_s)

    def note_answers(self, completions: Sequence[Completion]) -> None:
        Exchange.note_answers(self, completions)  # slots make another class of this one, which super() does not know
        self.waterfall.note_answers(completions, self.sent_s, time.perf_counter(), bool(self.job_ids))


def add_tracing(app: Api) -> None:
    """Add it to an application. Opens nothing, but where spans are exported."""
    export = None
    app.corrections.flask_headers.add("HTTP_X_TRACE")
    if app.settings.otel_endpoint:
        from api.tracing.spans import SpanExport

        export = SpanExport(app.settings.otel_endpoint)
        app.corrections.flask_headers.add("HTTP_TRACEPARENT")

    @app.before_request
    def begin() -> None:
        is_sampled = export is not None and export.is_sampled(request.headers.get("traceparent", ""))
        if is_sampled or request.headers.get("X-Trace") == "1":
            known = {spec.name: getattr(g.exchange, spec.name) for spec in fields(Exchange)}
            g.exchange = TracedExchange(**known)

    @app.after_request
    def end(response: Response) -> Response:
        exchange = g.exchange
        if not isinstance(exchange, TracedExchange) or not exchange.is_answer or response.is_streamed:
            return response
        trace = exchange.waterfall.document(time.perf_counter())
        body = response.get_data()
        response.set_data(body[: body.rindex(b"}")] + f', "trace": {json.dumps(trace)}}}\n'.encode())
        if export is not None:
            export.note(request.headers.get("traceparent", ""), exchange, trace)
        return response

    @app.get("/requests/<request_id>/trace")
    def refuse(request_id: str) -> Response:
        raise NotFound("Traces are not stored. Send a request with the header X-Trace: 1: its answer has its trace.")
