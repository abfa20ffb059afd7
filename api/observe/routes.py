"""GET /metrics."""

from __future__ import annotations

from dataclasses import replace

from api.http.app import Api, Services
from api.http.incoming import IncomingRequest
from api.http.replies import Reply
from api.observe import metrics
from api.service.exchange import Exchange
from api.service.fresh import Fresh
from api.service.threads import PAGES, in_thread

FRESH_FOR_S = 0.25  # the page is open, and each costs milliseconds


def add(app: Api, services: Services) -> None:
    """Add the route."""

    async def metrics_text() -> bytes:
        seen = await services.observer.observe()
        if not services.settings.uses_queue:  # without a queue nobody else adds up what this process counts
            seen = replace(seen, totals={**seen.totals, **services.recorder.totals()})
        return await in_thread(metrics.metrics_text, seen, services.settings, pool=PAGES)

    page = Fresh(metrics_text, FRESH_FOR_S, services.clock)

    @app.get("/metrics")
    async def show_metrics(_: Exchange, __: IncomingRequest) -> Reply:
        text = await page.get()
        return Reply(text, 200, [("Content-Type", metrics.MEDIA_TYPE), ("Content-Length", str(len(text)))])
