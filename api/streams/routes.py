"""Adds streams of events to POST /correct."""

from __future__ import annotations

from collections.abc import Awaitable

from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header

from api.grammar.correction import Correction
from api.http.app import Api, Services
from api.http.incoming import IncomingRequest
from api.http.lines import EVENT_HEADERS
from api.http.replies import EVENTS, JSON, Reply
from api.service.body import Body, CorrectionBody
from api.service.exchange import Exchange
from api.streams.events import event_stream
from scheduler.errors import ServingError


def add(app: Api, services: Services) -> None:
    """Answer clients that prefer events to JSON."""

    def finish(exchange: Exchange, end: Correction | ServingError | None) -> None:
        app.note_outcome(exchange, end)
        services.recorder.finish_stream(exchange, end)

    def way(exchange: Exchange, request: IncomingRequest, body: Body) -> Awaitable[Reply] | None:
        accept = request.headers.get("accept", "")
        if not isinstance(body, CorrectionBody) or EVENTS not in accept.lower() or _preferred(accept) != EVENTS:
            return None
        return reply(exchange, body)

    async def reply(exchange: Exchange, body: CorrectionBody) -> Reply:
        stream = await event_stream(services.corrector, exchange, body, finish)
        exchange.is_stream = True
        return Reply(stream, 200, [*EVENT_HEADERS])

    app.ways.append(way)


def _preferred(accept: str) -> str | None:
    return parse_accept_header(accept, MIMEAccept).best_match([JSON, EVENTS])
