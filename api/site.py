"""The whole application that a server loads: corrections, and what is for people and other programs around them.

A plug-in is a package with one `add(app, services)`. Nobody else imports it, and without it all others work.
"""

from __future__ import annotations

from typing import cast

from api.access import cross_origin
from api.access.keys import admit_of
from api.http.app import Api, Services
from api.kept import routes as kept_requests
from api.languagetool import routes as languagetool
from api.learners import routes as learners
from api.live import routes as live_view
from api.observe import metrics
from api.openapi import routes as openapi
from api.pages import files as pages
from api.service.corrector import Corrector
from api.streams import routes as streams
from api.telemetry.recorder import RequestRecorder
from api.tracing import plugin as tracing
from scheduler.settings import Settings
from worker.queue.redis_observer import RedisObserver

# In this order each looks at a request, and offers its way to answer one.
PLUGINS = (
    cross_origin, tracing, learners, kept_requests, streams, metrics, live_view, languagetool, openapi, pages,
)  # fmt: skip


def create_site(corrector: Corrector, settings: Settings) -> Api:
    """The application around a corrector. Opens nothing but the file of keys, where the settings name one."""
    services = services_of(corrector, settings)
    app = Api(services)
    for plugin in PLUGINS:
        plugin.add(app, services)
    return app


def services_of(corrector: Corrector, settings: Settings) -> Services:
    """Of one process. Raises KeyFileFault."""
    queue, recorder = corrector.mailbox, RequestRecorder(settings)
    # In the modes without a queue the engines that take its place are observed.
    observer = RedisObserver(queue.ask) if settings.uses_queue else cast(RedisObserver, queue)
    return Services(settings, corrector, queue, observer, recorder, admit_of(settings.api_keys_file))
