"""Clients on kept connections: the loop that the load generator and the traffic of the drills share.

One thread, one selector, and nothing that blocks. Times are those of `time.monotonic`. A subclass says what is
sent, and what becomes of an answer or of a connection that breaks.
"""

from __future__ import annotations

import gc
import selectors
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from api.server.connections import allow_connections
from ops.load.arrivals import Arrivals, Limits
from ops.load.connection import Connection, Reply, Target

TICK_S = 0.1
_PATIENCE_S = 10.0  # to connect, and to get a request out
AT_ONCE = 32  # requests that are sent before answers are read again: else answers would seem to take as long as these


@dataclass(slots=True, kw_only=True)
class Request:
    """What a subclass sends is one of these, with more."""

    due_s: float
    replica: int = 0  # the target that it goes to
    sent_s: float = 0.0  # the last attempt
    connection: Connection | None = None  # while an attempt is under way


class Clients(ABC):
    """One load. `_begin`, `_answered` and `_broken` are the subclass's; `_go_on` and `_look` may be."""

    def __init__(self, targets: Sequence[Target], arrivals: Arrivals, limits: Limits) -> None:
        self._targets = targets
        self._arrivals = arrivals
        self._limits = limits
        self._idle: list[list[Connection]] = [[] for _ in targets]
        self.selector = selectors.DefaultSelector()
        self._num_begun = 0
        self._started_s = 0.0
        self._takes_more, self._is_aborted = True, False

    @property
    def num_open(self) -> int:
        """Clients that wait."""
        return len(self.selector.get_map())

    @abstractmethod
    def _begin(self, number: int, due_s: float) -> None:
        """Send the request of that number."""

    @abstractmethod
    def _answered(self, request: Request, reply: Reply) -> None:
        """Take the whole reply in."""

    @abstractmethod
    def _broken(self, request: Request, error: OSError, connection: Connection) -> None:
        """The connection is closed by now; it knows what it had sent and received."""

    def _go_on(self, now_s: float) -> None:  # noqa: B027 - may stay empty
        """Go on after a round of answers."""

    def _look(self, now_s: float) -> None:  # noqa: B027 - as that
        """Look at what is due, at every tick."""

    def _wakes_s(self) -> list[float]:
        """When there is something to do for which no answer wakes the loop."""
        return []

    def _loop(self) -> None:
        """Run until the limits are reached and everything on its way has ended."""
        allow_connections(self._arrivals.max_connections)
        is_collecting = gc.isenabled()
        gc.disable()  # it looks through all that is kept: with 700,000 requests nothing is sent or read for 2.5 s
        self._started_s = looked_s = time.monotonic()
        try:
            while not self._is_aborted and (self._begin_due() or self.num_open):
                for key, _ in self.selector.select(self._rest_s()):
                    self._receive(key.data)
                now_s = time.monotonic()
                self._go_on(now_s)
                if now_s - looked_s >= TICK_S:
                    looked_s = now_s
                    self._give_up_unsent(now_s)
                    self._look(now_s)
        finally:
            self._close()
            if is_collecting:
                gc.enable()

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._started_s

    def _begin_due(self) -> bool:
        """Whether more is to come. What was due in time is sent, however late: to leave it out would hide the wait."""
        for _ in range(AT_ONCE if self._takes_more else 0):
            now_s, next_s = self._elapsed_s(), self._arrivals.next_s()
            if self._limits.are_reached(self._num_begun, now_s if next_s is None else next_s):
                return not self._limits.are_reached(self._num_begun, now_s)
            due_s = self._arrivals.take(now_s, self.num_open)
            if due_s is None:
                return True
            self._num_begun += 1
            self._begin(self._num_begun - 1, self._started_s + due_s)
        return self._takes_more

    def _rest_s(self) -> float:
        """Until something is due that no answer wakes us for. With all connections taken only an answer helps."""
        now_s, due = time.monotonic(), self._wakes_s()
        next_s, end_s = self._arrivals.next_s(), self._limits.duration_s
        has_connection = self.num_open < self._arrivals.max_connections
        is_reached = self._limits.are_reached(self._num_begun, now_s - self._started_s)
        if has_connection and self._takes_more and not is_reached:
            if next_s is None:
                due.append(now_s)  # a closed loop has more due than were sent at once
            else:
                due.append(self._started_s + (next_s if end_s is None else min(next_s, end_s)))
        return min([TICK_S, *(max(0.0, at_s - now_s) for at_s in due)])

    def _send(self, request: Request, body: bytes, headers: bytes = b"") -> None:
        idle = self._idle[request.replica]
        connection = request.connection = idle.pop() if idle else Connection(self._targets[request.replica])
        request.sent_s = time.monotonic()
        try:
            connection.send(body, headers)
        except OSError as error:
            self._break(request, error)
            return
        self.selector.register(connection, connection.events, request)

    def _give_up_unsent(self, now_s: float) -> None:
        for key in list(self.selector.get_map().values()):
            if not key.fileobj.has_sent and now_s - key.data.sent_s > _PATIENCE_S:
                self.selector.unregister(key.fileobj)
                self._break(key.data, TimeoutError())

    def _receive(self, request: Request) -> None:
        connection = request.connection
        events = connection.events
        try:
            reply = connection.receive()
        except OSError as error:
            self.selector.unregister(connection)
            self._break(request, error)
            return
        if reply is None:
            if connection.events != events:
                self.selector.modify(connection, connection.events, request)
            return
        self.selector.unregister(connection)
        if connection.is_over:
            connection.close()
        self._put_back(request)
        self._answered(request, reply)

    def _hang_up(self, request: Request) -> None:
        """Where an attempt is under way."""
        if request.connection is not None:
            self.selector.unregister(request.connection)
            request.connection.close()
            self._put_back(request)

    def _break(self, request: Request, error: OSError) -> None:
        connection = request.connection
        connection.close()
        self._put_back(request)
        self._broken(request, error, connection)

    def _put_back(self, request: Request) -> None:
        self._idle[request.replica].append(request.connection)
        request.connection = None

    def _close(self) -> None:
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        for connection in (one for idle in self._idle for one in idle):
            connection.close()
        self.selector.close()
