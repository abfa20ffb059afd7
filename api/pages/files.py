"""Files for browsers: read once, sent with an entity tag and a strict policy, and never on the way of a correction.

A page takes nothing from another host and runs no inline script. A browser keeps a file and asks each time whether it
is still the same, so that a new version of the server never meets an old script.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from flask import Flask, request

from api.http.replies import KEPT_BY_BROWSERS, Header, Reply
from api.services import Services
from scheduler.errors import NotFound

STATIC = Path(__file__).parent / "static"
# Text is put into the document as text: with trusted types, nothing else can be.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file as it is sent."""

    body: bytes
    entity_tag: str
    media_type: str
    policy: str

    @classmethod
    def read(cls, path: Path, policy: str = POLICY) -> PageFile:
        return cls.of(path.read_bytes(), _MEDIA_TYPES[path.suffix], policy)

    @classmethod
    def of(cls, body: bytes, media_type: str, policy: str = POLICY) -> PageFile:
        return cls(body, hashlib.sha256(body).hexdigest()[:16], media_type, policy)

    def reply(self) -> Reply:
        """The reply to the request that Flask handles: 304 where the browser has the file."""
        headers: list[Header] = [
            ("ETag", f'"{self.entity_tag}"'),
            KEPT_BY_BROWSERS,
            ("Content-Security-Policy", self.policy),
            ("Referrer-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ]
        if request.if_none_match.contains_weak(self.entity_tag):  # weak: a proxy that compresses makes it so
            return Reply(b"", 304, headers)
        size = ("Content-Length", str(len(self.body)))
        return Reply(self.body, 200, [("Content-Type", self.media_type), size, *headers])


def add(app: Flask, services: Services) -> None:
    """Add the page at `/` and the files that pages load to an application."""
    page = PageFile.read(STATIC / "index.html")
    files = {path.name: PageFile.read(path) for path in STATIC.iterdir() if path.suffix != ".html"}

    @app.get("/")
    def show_page() -> Reply:
        return page.reply()

    @app.get("/static/<name>")
    def show_file(name: str) -> Reply:
        if name not in files:
            raise NotFound("There is no such file.")
        return files[name].reply()
