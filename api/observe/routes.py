"""GET /metrics."""

from __future__ import annotations

from dataclasses import replace

from api.http.app import Api
from api.http.replies import Reply
from api.observe import metrics
from api.observe.metrics_page import MetricsPage
from api.observe.observer import observer_of


def add_observing(app: Api) -> None:
    """Add the route."""
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
