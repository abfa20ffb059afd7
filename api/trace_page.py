"""The answer to GET /requests/<id>/trace: JSON for programs, a picture in text for people."""

from __future__ import annotations

from flask import Request, Response

from api import problems
from api.waterfall import Waterfall, waterfall_of
from scheduler.errors import InvalidRequest, NotFound
from worker.mailbox.found_traces import FoundTrace

_TEXT = "text/plain"
_FORMATS = ("json", "text")
_LOOK_AGAIN_S = 1


def trace_response(request: Request, request_id: str, found: FoundTrace | None) -> Response:
    """Raises NotFound, InvalidRequest."""
    wants_text = _wants_text(request)
    if found is None:
        raise NotFound("No request has this id, or its trace is no longer kept.")
    if found.is_pending:
        response = Response(problems.to_json({"request_id": request_id, "status": "pending"}) + "\n", status=202)
        response.content_type = "application/json"
        response.headers["Retry-After"] = str(_LOOK_AGAIN_S)
        return response
    waterfall: Waterfall = waterfall_of(request_id, found)
    if wants_text:
        return Response(waterfall.text(), content_type=f"{_TEXT}; charset=utf-8")
    return Response(problems.to_json(waterfall.document()) + "\n", content_type="application/json")


def _wants_text(request: Request) -> bool:
    wanted = request.args.get("format")
    if wanted is None:
        return request.accept_mimetypes.best_match(["application/json", _TEXT]) == _TEXT
    if wanted not in _FORMATS:
        raise InvalidRequest("format", f"`format` must be {' or '.join(_FORMATS)}; without it Accept decides.")
    return wanted == "text"
