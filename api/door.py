"""The door of the API's port: takes all connections, answers probes at once and hands the rest in.

GET /healthz and /readyz must answer in milliseconds while hundreds of requests are in hand, and all of these share one
thread of greenlets in which everybody waits for a turn. So a thread of the operating system accepts the connections
and looks, without reading, at what a client sent first. A plain probe it answers itself; whatever it does not know,
or is not all there yet, goes to the server, which answers probes too.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import socket
import sys
import time
from collections.abc import Callable, Sequence
from email.utils import formatdate
from http import HTTPStatus
from typing import Any

import structlog
from gevent.monkey import get_original

from api import problems
from api.readiness import Readiness, ready_document
from api.unreadable import CLIENT_STALL_S
from scheduler.errors import QueueFull, ServingError
from worker.mailbox.bounds import shutting_down

logger = structlog.get_logger(__name__)

# The kernel's, not gevent's: this thread has no event loop.
_Socket = get_original("socket", "socket")
_poll = get_original("select", "poll")
_POLLIN = 1
_LOOK_EVERY_S = 1.0  # for connections that said nothing for too long
_PAUSE_S = 0.05  # where no more files can be opened
_PEEKED = 8192
_PROBES = {b"GET /healthz HTTP/1.": "/healthz", b"GET /readyz HTTP/1.": "/readyz"}
_BEYOND_US = (b"\r\ncontent-length:", b"\r\ntransfer-encoding:", b"\r\nx-request-id:", b"\r\nupgrade:", b"\r\nexpect:")
# Under a load this thread gets the interpreter only when the other one's turn is over, at every call to the kernel.
_SWITCH_S = 0.0005

# What is unusual is for gunicorn to judge.
_PLAIN = re.compile(rb"[^\r\n]+ HTTP/1\.[01]\r\n(?:[A-Za-z0-9-]+: [\x20-\x7e]*\r\n)*\r\n")

Admit = Callable[[int, Any], bool]  # whether it takes the file descriptor of a connection, given the client's address


class Door:
    """`run` is for a thread of its own; `close` may be called from another."""

    def __init__(self, listeners: Sequence[Any], readiness: Readiness, admit: Admit, most_silent: int) -> None:
        self._listeners = {}
        for listener in listeners:
            own = _Socket(listener.family, listener.type, 0, fileno=os.dup(listener.fileno()))
            own.setblocking(False)
            self._listeners[own.fileno()] = own
        self._readiness = readiness
        self._admit = admit
        self._most_silent = most_silent
        self._silent: dict[int, tuple[Any, Any, float]] = {}  # connection, address, since when; oldest first
        self._poll = _poll()
        self._is_closed = False
        sys.setswitchinterval(_SWITCH_S)

    def run(self) -> None:
        for descriptor in self._listeners:
            self._poll.register(descriptor, _POLLIN)
        while not self._is_closed:
            try:
                self._turn()
            except Exception:  # no one client may shut the door for all others
                logger.exception("a connection could not be taken")

    def close(self) -> None:
        """Nobody is taken any more. Who knocked before is told so: closing the port would cut them off."""
        self._is_closed = True
        for listener in self._listeners.values():
            self._refuse_the_rest(listener)
            listener.close()

    def _refuse_the_rest(self, listener: Any) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # BlockingIOError: nobody
                return
            connection.setblocking(False)
            self._refuse(connection, shutting_down())

    def _turn(self) -> None:
        for descriptor, _ in self._poll.poll(_LOOK_EVERY_S * 1e3):
            if descriptor in self._listeners:
                self._accept(self._listeners[descriptor])
            elif descriptor in self._silent:
                self._poll.unregister(descriptor)
                connection, address, _ = self._silent.pop(descriptor)
                self._look(connection, address)
        self._send_away_the_silent()

    def _accept(self, listener: Any) -> None:
        try:
            connection, address = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                _poll().poll(_PAUSE_S * 1e3)
            return
        connection.setblocking(False)
        self._look(connection, address)

    def _look(self, connection: Any, address: Any) -> None:
        """Decide by what the client has said so far."""
        try:
            said = connection.recv(_PEEKED, socket.MSG_PEEK)
        except BlockingIOError:
            self._wait_for(connection, address)
            return
        except OSError:
            said = b""
        path = _probe(said)
        if not said:
            connection.close()
        elif path is not None:
            self._answer(connection, address, said, path)
        elif self._readiness.is_stopping:
            self._refuse(connection, shutting_down())
        elif self._admit(connection.fileno(), address):
            connection.detach()  # it is no longer ours to close
        else:
            self._refuse(connection, QueueFull("This replica has as many connections as it may; try again.", 1.0))

    def _refuse(self, connection: Any, error: ServingError) -> None:
        self._send(connection, problem_reply(error), _everything(connection))
        connection.close()

    def _answer(self, connection: Any, address: Any, head: bytes, path: str) -> None:
        keeps = b" HTTP/1.1\r\n" in head and b"\r\nconnection: close" not in head.lower()
        keeps = keeps and not self._readiness.is_stopping
        if self._send(connection, reply_to(path, self._readiness, keeps), head) and keeps:
            self._wait_for(connection, address)
        else:
            connection.close()

    def _send(self, connection: Any, reply: bytes, head: bytes) -> bool:
        """Whether all of it went out; `head` is what is read before."""
        try:
            return len(connection.recv(len(head))) == len(head) and connection.send(reply) == len(reply)
        except OSError:
            return False

    def _wait_for(self, connection: Any, address: Any) -> None:
        """The one that has been silent for longest makes room, where there is none."""
        if len(self._silent) >= self._most_silent:
            self._send_away(next(iter(self._silent)))
        self._silent[connection.fileno()] = connection, address, time.monotonic()
        self._poll.register(connection.fileno(), _POLLIN)

    def _send_away_the_silent(self) -> None:
        now = time.monotonic()
        while self._silent:
            descriptor, (_, _, since_s) = next(iter(self._silent.items()))
            if now - since_s < CLIENT_STALL_S:
                return
            self._send_away(descriptor)

    def _send_away(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        connection, _, _ = self._silent.pop(descriptor)
        connection.close()


def _probe(said: bytes) -> str | None:
    """The path, if this is the whole of a plain probe and nothing else."""
    path = _PROBES.get(said[: said.find(b" HTTP/1.") + 8])
    if path is None or said.find(b"\r\n\r\n") != len(said) - 4:
        return None
    lowered = said.lower()
    if not _PLAIN.fullmatch(said) or any(header in lowered for header in _BEYOND_US):
        return None
    return path


def reply_to(path: str, readiness: Readiness, keeps: bool) -> bytes:
    """The answer to GET `path`, as it goes over the line."""
    if path == "/healthz":
        return _reply(200, "application/json", {"status": "ok"}, keeps)
    try:
        return _reply(200, "application/json", ready_document(readiness.check()), keeps)
    except ServingError as error:
        return problem_reply(error, keeps)


def problem_reply(error: ServingError, keeps: bool = False) -> bytes:
    document = problems.problem(error, secrets.token_hex(16))
    return _reply(error.status, problems.MEDIA_TYPE, document, keeps)


def _reply(status: int, media_type: str, document: dict[str, Any], keeps: bool) -> bytes:
    body = (problems.to_json(document) + "\n").encode()
    headers = {
        "Date": formatdate(usegmt=True),
        "Content-Type": media_type,
        "Content-Length": str(len(body)),
        "X-Request-ID": document.get("request_id") or secrets.token_hex(16),
        "Connection": "keep-alive" if keeps else "close",
    }
    if "retry_after_s" in document:
        headers["Retry-After"] = str(document["retry_after_s"])
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _everything(connection: Any) -> bytes:
    """What has come so far: closing with unread bytes would take the reply back from the client."""
    try:
        return connection.recv(1 << 20, socket.MSG_PEEK)
    except OSError:
        return b""
