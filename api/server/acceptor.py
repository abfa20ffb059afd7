"""Accepts the connections of a process, in its event loop.

uvloop accepts one in each iteration, however many wait: in an overload a new one would wait for seconds. So uvicorn has
no socket of its own here, and is handed the connections.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

_MOST = 16  # in one iteration, 2 ms of work; then all others have their turn
_PAUSE_S = 0.05  # where no more files can be opened
_MOST_UNREAD_BYTES = 1 << 20
# Takes a connection and its client's address, or returns the refusal of what was sent on it.
Admit = Callable[[socket.socket, str], Callable[[bytes], bytes] | None]


class Acceptor:
    """Used in the loop alone."""

    def __init__(self, loop: asyncio.AbstractEventLoop, listeners: Sequence[Any], admit: Admit) -> None:
        self._loop = loop
        self._listeners = listeners
        self._admit = admit
        self._listen()

    def close(self, refuse: Callable[[bytes], bytes]) -> None:
        """Accept nobody any more. Connections that wait for it are refused; closing the port would reset them."""
        self._pause()
        for listener in self._listeners:
            with suppress(OSError):  # BlockingIOError: nobody is left
                while True:
                    _refuse(listener.accept()[0], refuse)
            listener.close()
        self._listeners = ()

    def _listen(self) -> None:
        for listener in self._listeners:
            listener.setblocking(False)
            self._loop.add_reader(listener.fileno(), self._accept, listener)

    def _pause(self) -> None:
        for listener in self._listeners:
            self._loop.remove_reader(listener.fileno())

    def _accept(self, listener: Any) -> None:
        for _ in range(_MOST):
            try:
                connection, address = listener.accept()
            except OSError as error:  # BlockingIOError: there is no other
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    self._pause()
                    self._loop.call_later(_PAUSE_S, self._listen)
                return
            refuse = self._admit(connection, address[0])
            if refuse is not None:
                _refuse(connection, refuse)


def _refuse(connection: socket.socket, refuse: Callable[[bytes], bytes]) -> None:
    """What has arrived is read, or closing the connection would take the reply back."""
    connection.setblocking(False)
    head = b""
    with suppress(OSError):  # BlockingIOError: nothing has
        head = connection.recv(_MOST_UNREAD_BYTES)
    with suppress(OSError):
        connection.send(refuse(head))
    connection.close()
