"""GET /metrics."""

from __future__ import annotations

from dataclasses import replace

from api.http.app import Api
from api.http.replies import Reply
from api.observe import metrics
from api.service.fresh import Fresh
from api.services import Services

FRESH_FOR_S = 0.25  # the page is open, and each costs milliseconds


def add(app: Api, services: Services) -> None:
    """Add the route."""

    def metrics_text() -> bytes:
        seen = services.observer.observe()
        if not services.settings.uses_queue:  # without a queue nobody else adds up what this process counts
            seen = replace(seen, totals={**seen.totals, **services.recorder.totals()})
        return metrics.metrics_text(seen, services.settings)

    page = Fresh(metrics_text, FRESH_FOR_S, services.clock)

    @app.get("/metrics")
    def show_metrics() -> Reply:
        return Reply(page.get(), 200, [("Content-Type", metrics.MEDIA_TYPE)])
