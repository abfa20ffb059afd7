"""Accepts all connections of an API process, answers probes at once and hands the other connections to the server.

GET /healthz and /readyz must answer in milliseconds while hundreds of requests are handled, and all of these share one
event loop, in which each waits for its turn; and that loop accepts one connection in each of its iterations. So a
thread accepts the connections and looks, without reading, at what a client sent first. It answers a plain probe itself.
Anything else, and anything that is not complete yet, goes to the event loop, which answers probes too.
"""

from __future__ import annotations

import errno
import logging
import re
import select
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from api.service.readiness import Readiness

logger = logging.getLogger(__name__)

_CHECK_IDLE_EVERY_S = 1.0
_PAUSE_S = 0.05  # where no more files can be opened
_PEEKED_BYTES = 8192
_NUM_OLDEST = 32  # idle connections that are looked at when one must go: a crowd's are everywhere among them
_MOST_UNREAD_BYTES = 1 << 20
# A plain probe is answered here. Anything unusual, and what needs more than these lines, is for gunicorn to judge.
_PROBE = re.compile(rb"GET (/healthz|/readyz) HTTP/1\.([01])\r\n(?:[A-Za-z0-9-]+: [\x20-\x7e]*\r\n)*\r\n")
_NOT_PLAIN = re.compile(rb"\r\n(?:content-length|transfer-encoding|x-request-id|upgrade|expect):", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection:[^\r]*\bclose\b", re.IGNORECASE)
# Takes the file descriptor of a connection with its client's address, or returns the refusal of what was sent on it.
Reply = Callable[[str, bool], bytes]  # to a path, and whether the connection stays open
Admit = Callable[[int, Any], Callable[[bytes], bytes] | None]


class ProbeAcceptor:
    """`run` is the target of a thread; another thread may call `close`."""

    def __init__(
        self,
        listeners: Sequence[Any],
        readiness: Readiness,
        probe_reply: Reply,
        admit: Admit,
        bounds: tuple[int, float],
    ) -> None:
        self._listeners = {}
        for listener in listeners:
            listener.setblocking(False)
            self._listeners[listener.fileno()] = listener
        self._readiness = readiness
        self._admit = admit
        self._probe_reply = probe_reply
        self._max_idle, self._keep_alive_s = bounds
        self._idle: dict[int, tuple[Any, Any, float]] = {}  # connection, address, since when; oldest first
        self._poll = select.poll()
        self._is_closed = False

    def run(self) -> None:
        for descriptor in self._listeners:
            self._poll.register(descriptor, select.POLLIN)
        while not self._is_closed:
            try:
                self._poll_once()
            except Exception:  # one client must not end the thread for all others
                logger.exception("a connection could not be taken")

    def close(self) -> None:
        """Accept nobody any more. Connections that wait to be accepted get a 503; closing the port would reset them."""
        self._is_closed = True
        for listener in self._listeners.values():
            self._refuse_backlog(listener)
            listener.close()

    def _refuse_backlog(self, listener: Any) -> None:
        while True:
            try:
                connection, address = listener.accept()
            except OSError:  # BlockingIOError: nobody is left
                return
            connection.setblocking(False)
            self._hand_over(connection, address)

    def _poll_once(self) -> None:
        for descriptor, _ in self._poll.poll(_CHECK_IDLE_EVERY_S * 1e3):
            if descriptor in self._listeners:
                self._accept(self._listeners[descriptor])
            elif descriptor in self._idle:
                self._poll.unregister(descriptor)
                connection, address, _ = self._idle.pop(descriptor)
                self._dispatch(connection, address)
        self._close_idle_for_long()

    def _accept(self, listener: Any) -> None:
        try:
            connection, address = listener.accept()
        except OSError as error:  # BlockingIOError: another process was faster
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                select.poll().poll(_PAUSE_S * 1e3)
            return
        connection.setblocking(False)
        self._dispatch(connection, address)

    def _dispatch(self, connection: Any, address: Any) -> None:
        """Decide by what the client has sent so far."""
        try:
            head = connection.recv(_PEEKED_BYTES, socket.MSG_PEEK)
        except BlockingIOError:
            self._keep_idle(connection, address)
            return
        except OSError:
            head = b""
        probe = _PROBE.fullmatch(head)
        if not head:
            connection.close()
        elif probe is not None and not _NOT_PLAIN.search(head):
            self._answer_probe(connection, address, probe)
        else:
            self._hand_over(connection, address)

    def _hand_over(self, connection: Any, address: Any) -> None:
        """To the server, or refused: what has arrived is read, or closing the connection would take the reply back."""
        refuse = self._admit(connection.fileno(), address)
        if refuse is None:
            connection.detach()  # the server closes it
            return
        head = b""
        with suppress(OSError):  # BlockingIOError: nothing has
            head = connection.recv(_MOST_UNREAD_BYTES)
        with suppress(OSError):
            connection.send(refuse(head))
        connection.close()

    def _answer_probe(self, connection: Any, address: Any, probe: re.Match[bytes]) -> None:
        head, path, minor_version = probe[0], probe[1].decode(), probe[2]
        keeps_alive = minor_version == b"1" and not _CLOSE.search(head) and not self._readiness.is_stopping
        reply = self._probe_reply(path, keeps_alive)
        try:
            is_sent = len(connection.recv(len(head))) == len(head) and connection.send(reply) == len(reply)
        except OSError:
            is_sent = False
        if is_sent and keeps_alive:
            self._keep_idle(connection, address)
        else:
            connection.close()

    def _keep_idle(self, connection: Any, address: Any) -> None:
        """Wait for it to send something. Where too many do, the oldest goes, of its own address if there is one."""
        if len(self._idle) >= self._max_idle:
            oldest = list(islice(self._idle.items(), _NUM_OLDEST))
            own = [descriptor for descriptor, (_, other, _) in oldest if other[:1] == address[:1]]
            self._close_idle(own[0] if own else oldest[0][0])
        self._idle[connection.fileno()] = connection, address, time.monotonic()
        self._poll.register(connection.fileno(), select.POLLIN)

    def _close_idle_for_long(self) -> None:
        now = time.monotonic()
        while self._idle:
            descriptor, (_, _, since_s) = next(iter(self._idle.items()))
            if now - since_s < self._keep_alive_s:
                return
            self._close_idle(descriptor)

    def _close_idle(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        connection, _, _ = self._idle.pop(descriptor)
        connection.close()
