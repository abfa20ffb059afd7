"""An answer as a stream of server-sent events (WHATWG HTML, 9.2): `edit` as each is decoded, then `done` or `problem`.

`done` holds the JSON answer of POST /correct. Comments keep idle connections open, and tell us of clients that left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from api.grammar.pipeline import Edit
from api.http import problems
from api.http.replies import edit_document, internal_error, outcome_document
from api.service.jobs import Answer, Following
from scheduler.errors import ServingError

MEDIA_TYPE = "text/event-stream"
_COMMENT = b": nothing new\n\n"


class EventStream:
    """The body of a response. Closing it, as servers do when a client has left, abandons the request."""

    def __init__(self, following: Following, on_over: Callable[[Answer | ServingError | None], None]) -> None:
        """`on_over` is called once, with what the stream ended in; None: the client left."""
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
            return self._end(internal_error(error, self._request_id))
        if event is None:
            return _COMMENT
        if isinstance(event, Edit):
            return _event("edit", edit_document(event))
        self._is_over, self._ended_in = True, event
        return _event("done", outcome_document(event))

    def close(self) -> None:
        self._events.close()
        on_over, self._on_over = self._on_over, lambda _: None
        on_over(self._ended_in)

    def _end(self, error: ServingError) -> bytes:
        """The status line is sent already, so the problem is the last event."""
        self._is_over, self._ended_in = True, error
        return _event("problem", problems.problem(error, self._request_id))


def _event(name: str, document: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {problems.to_json(document)}\n\n".encode()
