"""GET /metrics and GET /requests/<id>/trace."""

from __future__ import annotations

from dataclasses import replace

from flask import Request, g, request

from api.http.app import Api
from api.http.large_documents import fragments_of, large_reply
from api.http.replies import JSON, Reply
from api.observe import metrics
from api.observe.asked import name_exchange, pending_reply
from api.observe.metrics_page import MetricsPage
from api.observe.observer import find_own, observer_of
from api.observe.waterfall import waterfall_document, waterfall_text
from api.service.corrector import Corrector
from scheduler.errors import InvalidRequest, NotFound

TEXT = "text/plain"


def add_observing(app: Api, corrector: Corrector) -> None:
    """Add the two routes."""
    observer = observer_of(app.mailbox)

    def metrics_text() -> bytes:
        seen = observer.observe()
        if not app.settings.uses_queue:  # without a queue nobody else adds up what this process counts
            seen = replace(seen, totals={**seen.totals, **app.recorder.tallies.totals()})
        return metrics.metrics_text(seen, app.settings)

    page = MetricsPage(metrics_text)

    @app.get("/metrics")
    def show_metrics() -> Reply:
        return Reply(page.text(), 200, [("Content-Type", metrics.MEDIA_TYPE)])

    @app.get("/requests/<request_id>/trace")
    def trace(request_id: str) -> Reply:
        name_exchange(request_id)
        if app.settings.traces == "off":
            raise NotFound("This server keeps no traces: MINISERVE_TRACES is off.")
        account, wants_text = g.exchange.account, _wants_text(request)
        is_own = account is None or find_own(observer, request_id, account) is not None
        found = observer.trace(request_id) if is_own else None
        if found is None:
            raise NotFound("No request has this id, or its trace is no longer kept.")
        if found.phase is not None:
            return pending_reply(request_id, found.phase)
        document = waterfall_document(request_id, found, corrector.pause)
        if wants_text:
            text = waterfall_text(document, corrector.pause)
            return Reply(text.encode(), 200, [("Content-Type", f"{TEXT}; charset=utf-8")])
        return large_reply(fragments_of(document, corrector.pause), corrector.pause)


def _wants_text(request: Request) -> bool:
    """Whether a trace is to be drawn for the terminal. Raises InvalidRequest."""
    wanted = request.args.get("format")
    if wanted is None:
        return request.accept_mimetypes.best_match([JSON, TEXT]) == TEXT
    if wanted not in ("json", "text"):
        raise InvalidRequest("format", "`format` must be json or text; without it Accept decides.")
    return wanted == "text"
