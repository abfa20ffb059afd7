"""Cross-origin requests (CORS, of the WHATWG Fetch standard): pages of some other origins may use the API.

Off by default: the application is then wrapped by nothing. No answer allows credentials: where keys are asked for, a
page of another origin sends its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from flask import request

from api.http.app import Api
from api.http.replies import Header, Reply
from scheduler.web_urls import ANY_ORIGIN, origins_of

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication

_METHODS = "GET, POST, DELETE"
_REQUEST_HEADERS = (
    "Authorization, Content-Type, Idempotency-Key, Prefer, X-Deadline-Ms, X-Request-ID, X-Trace, traceparent"
)
_EXPOSED = "Location, Preference-Applied, Retry-After, Server-Timing, X-Request-ID"
_MAX_AGE_S = 600
_PREFLIGHT_HEADERS = [
    ("Access-Control-Allow-Methods", _METHODS),
    ("Access-Control-Allow-Headers", _REQUEST_HEADERS),
    ("Access-Control-Max-Age", str(_MAX_AGE_S)),
]


def add_cross_origin(app: Api) -> None:
    """Answer preflights before anything asks for a key, and name the allowed origin in every answer to it."""
    origins = origins_of(app.settings.cors_origins)
    if not origins:
        return
    app.wsgi_app = _NamesOrigins(app.wsgi_app, origins)

    @app.before_request
    def answer_preflight() -> Reply | None:
        """An origin that is not allowed gets the same: what is missing then is its name."""
        if request.method != "OPTIONS" or "HTTP_ACCESS_CONTROL_REQUEST_METHOD" not in request.environ:
            return None
        return Reply(b"", 204, list(_PREFLIGHT_HEADERS))


class _NamesOrigins:
    """A WSGI application around ours."""

    def __init__(self, application: WSGIApplication, origins: frozenset[str]) -> None:
        self._application = application
        self._origins = origins

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        # Without an origin, too: a cache must not give one's answer to another.
        added: list[Header] = [("Vary", "Origin")]
        origin = environ.get("HTTP_ORIGIN", "")
        if origin and (origin in self._origins or ANY_ORIGIN in self._origins):
            added += [("Access-Control-Allow-Origin", origin), ("Access-Control-Expose-Headers", _EXPOSED)]
        return self._application(
            environ, lambda status, headers, *error: start_response(status, headers + added, *error)
        )
