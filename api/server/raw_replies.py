"""Replies that are written without an application: to probes, to connections refused, to heads that cannot be read."""

from __future__ import annotations

import secrets
from email.utils import formatdate
from http import HTTPStatus
from typing import Any

from gunicorn.http.errors import ParseException

from api.http import problems
from api.service.readiness import Readiness, ready_document
from scheduler.errors import InvalidHeader, ServingError

CLIENT_STALL_S = 30.0  # a client that neither sends nor reads for so long is cut off


class AnswersUnreadable:
    """Goes before a gunicorn worker class, whose own answer to a broken request line or header is an HTML page."""

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        if not isinstance(exc, ParseException):
            super().handle_error(req, client, addr, exc)
            return
        self.log.debug("unreadable request: %s", type(exc).__name__)
        error = InvalidHeader("The request line or a header cannot be read, or is too long.")
        try:
            client.sendall(problem_reply(error))
        except OSError:
            self.log.debug("the client has left before the reply")


def probe_reply(path: str, readiness: Readiness, keeps_alive: bool) -> bytes:
    """The reply to GET /healthz or /readyz."""
    if path == "/healthz":
        return _reply(200, "application/json", {"status": "ok"}, keeps_alive)
    try:
        return _reply(200, "application/json", ready_document(readiness.check()), keeps_alive)
    except ServingError as error:
        return problem_reply(error, keeps_alive)


def problem_reply(error: ServingError, keeps_alive: bool = False) -> bytes:
    document = problems.problem(error, secrets.token_hex(16))
    return _reply(error.status, problems.MEDIA_TYPE, document, keeps_alive)


def _reply(status: int, media_type: str, document: dict[str, Any], keeps_alive: bool) -> bytes:
    body = (problems.to_json(document) + "\n").encode()
    headers = {
        "Date": formatdate(usegmt=True),
        "Content-Type": media_type,
        "Content-Length": str(len(body)),
        "X-Request-ID": document.get("request_id") or secrets.token_hex(16),
        "Connection": "keep-alive" if keeps_alive else "close",
    }
    if "retry_after_s" in document:
        headers["Retry-After"] = str(document["retry_after_s"])
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body
