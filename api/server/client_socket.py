"""The connection of a client: bounds on what it may send and on how long that may take.

gunicorn's parser reads through `recv`, so head, body and what nobody reads are bounded in one place. A client that
sends in small pieces lets others go first after each of them.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from typing import Any

import gevent
from gevent import socket
from gevent.lock import Semaphore
from gunicorn.http.body import Body
from gunicorn.http.errors import LimitRequestHeaders

from api.http.request_input import body_too_large
from api.server.raw_replies import CLIENT_STALL_S

HEAD_S = 10.0  # from the first byte of a request to the end of its head
BODY_S = 30.0  # from the end of its head to the end of its body
MAX_HEAD_BYTES = 32 * 1024  # as nginx's default; the first bytes of the body may be among them
FRAMING_BYTES = 64 * 1024  # that chunks may add to a body
MAX_UNREAD_BYTES = 256 * 1024  # of a body that no handler has read, which are read to keep the connection
LAST_BYTES = 16 * 1024 * 1024  # that a client may still send after the answer that closes its connection
LAST_BYTES_S = 5.0
_STEP_BYTES = 64 * 1024
_PARSERS_STEP_BYTES = 8192  # gunicorn asks for so much where it parses, and for more where it does not
_FRAMING_STEP_BYTES = 2048  # of heads and chunks, which are parsed: 340 chunks of a byte take 2 ms
_turn = Semaphore()
_refusals = Semaphore()  # of bodies that are declared too long
_REFUSAL_EVERY_S = 0.004
_NEXT_ITERATION_S = 1e-9  # gevent.sleep(0) comes back up to fifty times before the event loop looks at a socket


def let_others_go_first() -> None:
    """Called by whoever has more to do than one usual request.

    Of those only one goes on in an iteration of the event loop, each in its turn, so that all others wait for one of
    them at most.
    """
    if _turn.linkcount():  # the first of them is woken only later, and would find the turn taken again
        gevent.sleep(0)
    with _turn:
        gevent.sleep(_NEXT_ITERATION_S)


class ClientSocket(socket.socket):
    """Used by the one greenlet that serves the connection."""

    __slots__ = ("_has_begun", "_is_body", "_keep_alive_s", "_left_bytes", "_max_body_bytes", "_until_s", "is_asked")

    def __init__(self, *, fileno: int, max_body_bytes: int, keep_alive_s: float) -> None:
        super().__init__(fileno=fileno)
        self.settimeout(CLIENT_STALL_S)  # of a client that does not read
        self._max_body_bytes, self._keep_alive_s = max_body_bytes, keep_alive_s
        self.expect_head()

    def expect_head(self, unread_bytes: int = 0) -> None:
        """A request may come, behind what is left of the one before."""
        self._until_s = time.monotonic() + self._keep_alive_s
        self._left_bytes = MAX_HEAD_BYTES + unread_bytes
        self._has_begun = self._is_body = self.is_asked = False

    def expect_body(self, is_asked: bool = False, num_bytes: float = 0) -> None:
        """The head is read, and perhaps the body. `is_asked`: the client waits for 100 Continue."""
        if self._max_body_bytes < num_bytes < math.inf:
            with _refusals:  # each costs as much as an answer, and its client nothing
                gevent.sleep(_REFUSAL_EVERY_S)
        self.is_asked = is_asked
        self._until_s = time.monotonic() + BODY_S
        self._left_bytes = self._max_body_bytes + FRAMING_BYTES
        self._has_begun, self._is_body = False, True

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Raises TimeoutError, LimitRequestHeaders and BodyTooLarge. With flags it only looks."""
        if flags:
            return super().recv(size, flags)
        if self._has_begun:
            let_others_go_first()  # the client sends in pieces, and where more has come, nothing else would yield
            size = size if size > _PARSERS_STEP_BYTES else min(size, _FRAMING_STEP_BYTES)
        if self.is_asked:
            self.is_asked = False
            self.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the client takes too long")
        self.settimeout(left_s)
        try:
            data: bytes = super().recv(size)
        finally:
            self.settimeout(CLIENT_STALL_S)
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            raise body_too_large(self._max_body_bytes) if self._is_body else LimitRequestHeaders("too long")
        if not self._has_begun and not self._is_body:
            self._until_s = time.monotonic() + HEAD_S
        self._has_begun = True
        return data

    def linger(self) -> None:
        """Let the client read its answer: a connection closed with unread bytes would take it back."""
        with suppress(OSError):
            self.shutdown(socket.SHUT_WR)
            deadline_s, left_bytes = time.monotonic() + LAST_BYTES_S, LAST_BYTES
            while left_bytes > 0 and (wait_s := deadline_s - time.monotonic()) > 0:
                self.settimeout(wait_s)
                data = super().recv(_STEP_BYTES)
                if not data:
                    return
                left_bytes -= len(data)
                gevent.sleep(0)


def unread_bytes(body: Body) -> float:
    """How much of a body is still to come; infinite where its end cannot be known or reached."""
    reader: Any = body.reader
    if body.failed:
        return float("inf")
    if hasattr(reader, "length"):
        return int(reader.length)
    return float("inf") if reader.parser is not None else 0
