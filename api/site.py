"""The whole application that a server loads: corrections, and what is for people and other programs around them.

What is added here is not on the way of POST /correct: its package is imported by nobody else.
"""

from __future__ import annotations

from api.access.cross_origin import add_cross_origin
from api.access.gate import add_access
from api.batch.routes import add_batches
from api.http.app import Api, create_app
from api.kept.routes import add_kept_requests
from api.languagetool.routes import add_languagetool
from api.learners.routes import add_learners
from api.live.routes import add_live_view
from api.observe.routes import add_observing
from api.openapi.routes import add_openapi
from api.pages.files import add_pages
from api.service.corrector import Corrector
from api.streams.routes import add_streams
from api.tracing.plugin import add_tracing
from scheduler.settings import Settings


def create_site(corrector: Corrector, settings: Settings) -> Api:
    """The application around a corrector; opens nothing by itself."""
    app = create_app(corrector, settings)
    add_cross_origin(app)
    add_access(app)
    add_tracing(app)
    add_learners(app)
    add_batches(app, corrector)
    add_kept_requests(app, corrector)
    add_streams(app, corrector)
    add_observing(app)
    add_live_view(app)
    add_languagetool(app, corrector)
    add_openapi(app)
    add_pages(app)
    return app
