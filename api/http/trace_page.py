"""The answer to GET /requests/<id>/trace: JSON for programs, a picture in text for people."""

from __future__ import annotations

from flask import Request

from api.http.replies import LOOK_AGAIN_S, Reply, json_reply
from api.telemetry.waterfall import waterfall_document, waterfall_text
from scheduler.errors import InvalidRequest, NotFound
from scheduler.traces import FoundTrace

_TEXT = "text/plain"
_FORMATS = ("json", "text")


def trace_reply(request: Request, request_id: str, found: FoundTrace | None) -> Reply:
    """Raises NotFound, InvalidRequest."""
    wants_text = _wants_text(request)
    if found is None:
        raise NotFound("No request has this id, or its trace is no longer kept.")
    if found.is_pending:
        reply = json_reply({"request_id": request_id, "status": "pending"}, 202)
        reply.headers.append(("Retry-After", str(LOOK_AGAIN_S)))
        return reply
    document = waterfall_document(request_id, found)
    if wants_text:
        return Reply(200, [("Content-Type", f"{_TEXT}; charset=utf-8")], waterfall_text(document).encode())
    return json_reply(document)


def _wants_text(request: Request) -> bool:
    wanted = request.args.get("format")
    if wanted is None:
        return request.accept_mimetypes.best_match(["application/json", _TEXT]) == _TEXT
    if wanted not in _FORMATS:
        raise InvalidRequest("format", f"`format` must be {' or '.join(_FORMATS)}; without it Accept decides.")
    return wanted == "text"
