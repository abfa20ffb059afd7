"""Cross-origin requests (CORS, of the WHATWG Fetch standard): pages of some other origins may use the API.

Off by default: the application is then wrapped by nothing. No answer allows credentials: where keys are asked for, a
page of another origin sends its own.
"""

from __future__ import annotations

from api.http.app import Api, Services
from api.http.incoming import IncomingRequest
from api.http.replies import Reply
from api.service.exchange import Exchange
from scheduler.web_urls import ANY_ORIGIN, origins_of

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


def add(app: Api, services: Services) -> None:
    """Answer preflights before anything asks for a key, and name the allowed origin in every answer to it."""
    origins = origins_of(services.settings.cors_origins)
    if not origins:
        return

    def name_origin(_: Exchange, request: IncomingRequest, reply: Reply) -> Reply:
        # Without an origin, too: a cache must not give one's answer to another.
        reply.headers.append(("Vary", "Origin"))
        origin = request.headers.get("origin", "")
        if origin and (origin in origins or ANY_ORIGIN in origins):
            reply.headers.append(("Access-Control-Allow-Origin", origin))
            reply.headers.append(("Access-Control-Expose-Headers", _EXPOSED))
        return reply

    def answer_preflight(_: Exchange, request: IncomingRequest) -> Reply | None:
        """An origin that is not allowed gets the same: what is missing then is its name."""
        if request.method != "OPTIONS" or "access-control-request-method" not in request.headers:
            return None
        return Reply(b"", 204, list(_PREFLIGHT_HEADERS))

    app.begins.append(answer_preflight)
    app.ends.append(name_origin)
