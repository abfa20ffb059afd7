"""An answer as a stream of server-sent events (WHATWG HTML, 9.2): `edit` as each is decoded, then `done` or `problem`.

`done` holds the JSON answer of POST /correct. Comments keep idle connections open, and tell us of clients that left.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import Any

import structlog

from api import documents, problems
from api.agent import Edit
from api.jobs import Answer, Following
from scheduler.errors import ServingError

MEDIA_TYPE = "text/event-stream"
_COMMENT = b": nothing new\n\n"
logger = structlog.get_logger(__name__)


class EventStream:
    """The body of a response. Closing it, as servers do when a client is gone, lets the request go."""

    def __init__(self, following: Following, on_over: Callable[[Answer | ServingError | None], None]) -> None:
        """`on_over` is called once, with how it ended; None: the client left."""
        self._request_id = following.request_id
        self._events = following.events
        self._on_over = on_over
        self._is_over = False
        self._ended_in: Answer | ServingError | None = None

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._is_over:
            raise StopIteration
        try:
            event = next(self._events)
        except ServingError as error:
            return self._end(error)
        except Exception as error:
            where = "".join(traceback.format_tb(error.__traceback__))  # never the message: it may quote the text
            told = {"error_type": type(error).__name__, "traceback": where}
            logger.error("internal error", request_id=self._request_id, **told)
            return self._end(ServingError(f"A fault of the server, logged with the request id {self._request_id}."))
        if event is None:
            return _COMMENT
        if isinstance(event, Edit):
            return _event("edit", documents.edit_document(event))
        self._is_over, self._ended_in = True, event
        return _event("done", documents.outcome_document(event))

    def close(self) -> None:
        self._events.close()
        on_over, self._on_over = self._on_over, lambda _: None
        on_over(self._ended_in)

    def _end(self, error: ServingError) -> bytes:
        """The status line is out: the problem comes as the last event."""
        self._is_over, self._ended_in = True, error
        return _event("problem", problems.problem(error, self._request_id))


def _event(name: str, document: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {problems.to_json(document)}\n\n".encode()
