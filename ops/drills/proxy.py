"""A loopback proxy in front of Redis that counts one process's commands and trips at a given one.

So a process can be killed after exactly its n-th command, once before the reply gets back to it and once after,
without any hook in the product. Commands are relayed in lockstep, one and its one reply at a time, pipelined ones too.
What Redis publishes may come between (RESP3), and counts as a command named `message`.
"""

from __future__ import annotations

import hashlib
import select
import socket
import socketserver
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import hiredis

from worker.queue.connection import script_sources

MESSAGE = "message"
_CHUNK_BYTES = 65_536
_NOTHING = object()
_NOT_OF_A_REQUEST = ("beat", "status", MESSAGE)  # they come by the clock, with /readyz, and beside it


@dataclass(frozen=True, slots=True)
class Tripwire:
    """Where to trip: at the `number`-th command, counted from the first one named `begins_with`."""

    number: int
    before_reply: bool
    begins_with: str = ""  # empty: count from now on
    only: str = ""  # count the commands of this name alone; empty: all that belong to a request
    is_slow: bool = False  # no worker is there for the first two seconds, so that the API asks what became of it


class CountingProxy:
    """Trips once for each `watch`: then `on_trip` is called, and the reply is dropped or passed on, as asked."""

    def __init__(self, redis_port: int) -> None:
        self.names: list[str] = []  # of the commands counted since `watch`, the one that tripped last
        self.has_tripped = False
        self._lock = threading.Lock()
        self._tripwire: Tripwire | None = None
        self._on_trip: Callable[[], None] = lambda: None
        self._digests = {hashlib.sha1(source.encode()).hexdigest(): name for name, source in script_sources().items()}
        proxy = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                redis = ("127.0.0.1", redis_port)
                with suppress(OSError), socket.create_connection(redis) as upstream:
                    for end in (self.request, upstream):
                        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    proxy._relay(self.request, upstream)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads, self._server.block_on_close = True, False
        self.url = f"redis://127.0.0.1:{self._server.server_address[1]}/0"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), name="proxy", daemon=True).start()

    def watch(self, tripwire: Tripwire, on_trip: Callable[[], None] = lambda: None) -> None:
        with self._lock:
            self.names, self.has_tripped = [], False
            self._tripwire, self._on_trip = tripwire, on_trip

    def unwatch(self) -> list[str]:
        """The names counted."""
        with self._lock:
            self._tripwire = None
            return list(self.names)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _relay(self, client: socket.socket, upstream: socket.socket) -> None:
        commands, answers = hiredis.Reader(), hiredis.Reader(notEnoughData=_NOTHING)
        # What is not passed on yet; whether a reply is due, and what its command trips.
        held, waits, wire = b"", False, None
        while True:
            if not waits and (command := commands.gets()) is not False:
                waits, wire = True, self._count(self._name(command))
                upstream.sendall(hiredis.pack_command(tuple(command)))
            for ready in select.select([upstream] if waits else [client, upstream], [], [])[0]:
                if not (chunk := ready.recv(_CHUNK_BYTES)):
                    return
                if ready is client:
                    commands.feed(chunk)
                    continue
                answers.feed(chunk)
                held, trips = held + chunk, []
                for each in iter(answers.gets, _NOTHING):
                    is_message = isinstance(each, hiredis.PushNotification) and each[0] == b"message"
                    trips.append(self._count(MESSAGE) if is_message else wire)
                    waits = waits and is_message
                tripped = next(filter(None, trips), None)
                if trips and (tripped is None or not tripped.before_reply):
                    client.sendall(held)
                if tripped is not None:
                    self._trip()
                    return
                held = b"" if trips else held

    def _name(self, command: Sequence[bytes]) -> str:
        """Of our own scripts the script's, else the command's."""
        verb = command[0].decode().upper()
        return self._digests.get(command[1].decode(), verb) if verb == "EVALSHA" else verb

    def _count(self, name: str) -> Tripwire | None:
        """The tripwire, where this command is the one it waits for."""
        with self._lock:
            wire = self._tripwire
            if wire is None or not (name == wire.only if wire.only else name not in _NOT_OF_A_REQUEST):
                return None
            if not self.names and wire.begins_with and name != wire.begins_with:
                return None
            self.names.append(name)
            if len(self.names) != wire.number:
                return None
            self._tripwire = None
            return wire

    def _trip(self) -> None:
        self._on_trip()
        self.has_tripped = True
