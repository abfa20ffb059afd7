"""Files for browsers: read once, sent with an entity tag and a strict policy, and never on the way of a correction.

A page takes nothing from another host and runs no inline script. A browser keeps a file and asks each time whether it
is still the same, so that a new version of the server never meets an old script.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from flask import Response, request

from api.http.app import Api
from api.http.replies import KEPT_BY_BROWSERS
from api.services import Services
from scheduler.errors import NotFound

STATIC = Path(__file__).parent / "static"
# Text is put into the document as text: with trusted types, nothing else can be.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = [
    KEPT_BY_BROWSERS,
    ("Content-Security-Policy", POLICY),
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
]
_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def page_reply(body: bytes, media_type: str) -> Response:
    """The response to the request that Flask handles: 304 where the browser has the same body."""
    response = Response(body, headers=_HEADERS, content_type=media_type)
    response.add_etag()
    response.make_conditional(request)
    return response


@cache
def _read(name: str) -> bytes:
    return (STATIC / name).read_bytes()


def file_reply(name: str) -> Response:
    """The response with a file of the folder. Its name is one of ours, never one that was sent."""
    return page_reply(_read(name), _MEDIA_TYPES[Path(name).suffix])


def add(app: Api, services: Services) -> None:
    """Add the page at `/` and the files that pages load to an application."""
    names = {path.name for path in STATIC.iterdir() if path.suffix != ".html"}

    @app.get("/")
    def show_page() -> Response:
        return file_reply("index.html")

    @app.get("/static/<name>")
    def show_file(name: str) -> Response:
        if name not in names:
            raise NotFound("There is no such file.")
        return file_reply(name)
