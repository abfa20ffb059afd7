"""A WSGI application around an ASGI application, for the test clients of Flask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

from werkzeug.http import HTTP_STATUS_CODES


class ByAsgi:
    """Each request has an event loop and a connection of its own."""

    def __init__(self, application: Any) -> None:
        self._application = application

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        sent: list[dict[str, Any]] = []
        asyncio.run(self._run(environ, sent))
        head, *parts = sent
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in head["headers"]]
        start_response(f"{head['status']} {HTTP_STATUS_CODES[head['status']].upper()}", headers)
        return [part.get("body", b"") for part in parts]

    async def _run(self, environ: dict[str, Any], sent: list[dict[str, Any]]) -> None:
        async def receive() -> dict[str, Any]:
            length = environ.get("CONTENT_LENGTH")
            return {"type": "http.request", "body": environ["wsgi.input"].read(int(length) if length else -1)}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self._application(_scope_of(environ), receive, send)


def _scope_of(environ: dict[str, Any]) -> dict[str, Any]:
    headers = [
        (name.removeprefix("HTTP_").replace("_", "-").lower().encode(), value.encode("latin-1"))
        for name, value in environ.items()
        if name.startswith("HTTP_") or (name in ("CONTENT_TYPE", "CONTENT_LENGTH") and value)
    ]
    client = environ.get("REMOTE_ADDR", "127.0.0.1"), 1
    connection = SimpleNamespace(
        address=client[0], cycle=SimpleNamespace(response_started=False), is_broken=False, is_cut=False,
        is_too_long=False, has_left=lambda: False, when_left=Mock(), before_answer=Mock(return_value=[]),
        release=Mock(), takes_whole_answers=False,
    )  # fmt: skip
    return {
        "type": "http", "method": environ["REQUEST_METHOD"], "headers": headers, "client": client,
        "path": environ["PATH_INFO"].encode("latin-1").decode(errors="replace"), "root_path": "",
        "scheme": environ["wsgi.url_scheme"],
        "query_string": environ.get("QUERY_STRING", "").encode("latin-1"), "http_version": "1.1",
        "server": (environ["SERVER_NAME"], int(environ["SERVER_PORT"])), "state": {"connection": connection},
    }  # fmt: skip
