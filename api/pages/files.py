"""Files for browsers: read once, sent with an entity tag and a strict policy, and never on the way of a correction.

A page takes nothing from another host and runs no inline script. A browser keeps a file and asks each time whether it
is still the same, so that a new version of the server never meets an old script.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

from werkzeug.http import generate_etag, quote_etag
from werkzeug.sansio.http import is_resource_modified

from api.http.app import Api, Services
from api.http.incoming import IncomingRequest
from api.http.replies import KEPT_BY_BROWSERS, Reply
from api.service.exchange import Exchange
from scheduler.errors import NotFound

STATIC = Path(__file__).parent / "static"
# Of the one style sheet that codemirror.js makes in the document. After another build the browser's console names it.
_EDITOR_STYLE = "sha256-gvGMDkamGFbWvFbvQSMvrp3WygMdkaEUx0f5IRRrpWM="
# Text is put into the document as text: with trusted types, nothing else can be.
POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' '{_EDITOR_STYLE}'; img-src 'self'; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
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
_tag_of = lru_cache(64)(generate_etag)


def page_reply(request: IncomingRequest, body: bytes, media_type: str) -> Reply:
    """304 where the browser has the same body."""
    tag = quote_etag(_tag_of(body))
    headers = [*_HEADERS, ("ETag", tag)]
    if not is_resource_modified(http_if_none_match=request.headers.get("if-none-match"), etag=tag):
        return Reply(b"", 304, headers)
    return Reply(body, 200, [("Content-Type", media_type), ("Content-Length", str(len(body))), *headers])


@cache
def _read(name: str) -> bytes:
    return (STATIC / name).read_bytes()


def file_reply(request: IncomingRequest, name: str) -> Reply:
    """A file of the folder. Its name is one of ours, never one that was sent."""
    return page_reply(request, _read(name), _MEDIA_TYPES[Path(name).suffix])


def add(app: Api, services: Services) -> None:
    """Add the page at `/` and the files that pages load to an application."""
    names = {path.name for path in STATIC.iterdir() if path.suffix != ".html"}

    @app.get("/")
    async def show_page(_: Exchange, request: IncomingRequest) -> Reply:
        return file_reply(request, "index.html")

    @app.get("/static/<name>")
    async def show_file(_: Exchange, request: IncomingRequest, name: str) -> Reply:
        if name not in names:
            raise NotFound("There is no such file.")
        return file_reply(request, name)
