"""What every kind of gunicorn worker here does alike: a broken request line or header gets a problem document."""

from __future__ import annotations

import json
import secrets
from typing import Any

from gunicorn.http.errors import ParseException

from api import problems
from scheduler.errors import InvalidHeader

CLIENT_STALL_S = 30.0  # a client that neither sends nor reads for so long is cut off


class AnswersUnreadable:
    """Goes before a gunicorn worker class, whose own answer is an HTML page."""

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        if not isinstance(exc, ParseException):
            super().handle_error(req, client, addr, exc)
            return
        self.log.debug("unreadable request: %s", type(exc).__name__)
        error = InvalidHeader("The request line or a header cannot be read, or is too long.")
        try:
            client.sendall(_raw_problem(error, secrets.token_hex(16)))
        except OSError:
            self.log.debug("the client has left before it could be told")


def _raw_problem(error: InvalidHeader, request_id: str) -> bytes:
    body = json.dumps(problems.problem(error, request_id)).encode()
    head = (
        f"HTTP/1.1 {error.status} Bad Request\r\nContent-Type: {problems.MEDIA_TYPE}\r\n"
        f"Content-Length: {len(body)}\r\nX-Request-ID: {request_id}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
