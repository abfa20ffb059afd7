"""The loop: sends what is due, collects what came back. One thread, one selector; only connecting blocks besides."""

from __future__ import annotations

import json
import selectors
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from api.server.open_files import allow_connections
from ops.load.arrivals import Arrivals, Limits
from ops.load.connection import Connection, Reply, Target
from ops.load.measurements import Measurements

PATIENCE_S = 60.0  # for one answer; longer than a server's own deadline
_TICK_S = 0.25
_PAUSE_S = 0.01  # after a connection that could not be made: a server that is away must not be tried in a spin

Expected = Mapping[str, Mapping[str, Any]]  # sentence -> its answer without request_id; not of those to be refused


@dataclass(slots=True)
class _InFlight:
    """A request on its way; times in seconds since the start."""

    sentence: str
    due_s: float
    sent_s: float


class Generator:
    """One load. `on_tick` sees the measurements as they grow."""

    def __init__(
        self, target: Target, sentences: Sequence[str], arrivals: Arrivals, limits: Limits, expected: Expected | None
    ) -> None:
        self.measurements = Measurements()
        self._target = target
        self._sentences = sentences
        self._arrivals = arrivals
        self._limits = limits
        self._expected = expected
        self._bodies = [json.dumps({"sentence": sentence}).encode() for sentence in sentences]
        self._idle: list[Connection] = []
        self._selector = selectors.DefaultSelector()
        self._num_sent = 0
        self._started = 0.0

    def run(self, on_tick: Callable[[Measurements], None] = lambda _: None) -> Measurements:
        """Until the limits are reached and everything on its way has ended."""
        allow_connections(self._arrivals.max_connections)
        self._started = time.perf_counter()
        looked_s = 0.0
        try:
            while self._send_due() or self._selector.get_map():
                for key, _ in self._selector.select(self._patience_s()):
                    self._receive(key.fileobj, key.data)
                now_s = self.measurements.elapsed_s = self._elapsed_s()
                if now_s - looked_s >= _TICK_S:
                    looked_s = now_s
                    self._give_up_late(now_s)
                    on_tick(self.measurements)
        finally:
            self._close()
        self.measurements.elapsed_s = self._elapsed_s()  # also where nothing could be sent, and so nothing came back
        on_tick(self.measurements)
        return self.measurements

    def _elapsed_s(self) -> float:
        return time.perf_counter() - self._started

    def _send_due(self) -> bool:
        """Whether more is to come. What was due in time is sent, however late: to leave it out would hide the wait."""
        while True:
            now_s, next_s = self._elapsed_s(), self._arrivals.next_s()
            if self._limits.are_reached(self._num_sent, now_s if next_s is None else next_s):
                return not self._limits.are_reached(self._num_sent, now_s)
            due_s = self._arrivals.take(now_s, len(self._selector.get_map()))
            if due_s is None:
                return True
            self._send(due_s, now_s)

    def _send(self, due_s: float, now_s: float) -> None:
        number = self._num_sent % len(self._sentences)
        self._num_sent += 1
        connection = self._idle.pop() if self._idle else Connection(self._target)
        try:
            connection.send(self._bodies[number])
        except OSError as error:
            self._fail(connection, error)
            time.sleep(_PAUSE_S)
            return
        in_flight = _InFlight(self._sentences[number], due_s, now_s)
        self._selector.register(connection, selectors.EVENT_READ, in_flight)

    def _patience_s(self) -> float:
        """Until the next request is due or the time is over. Where only an answer helps, its arrival wakes us."""
        now_s, next_s = self._elapsed_s(), self._arrivals.next_s()
        has_connection = len(self._selector.get_map()) < self._arrivals.max_connections
        if next_s is None or not has_connection or self._limits.are_reached(self._num_sent, now_s):
            return _TICK_S
        if self._limits.duration_s is not None:
            next_s = min(next_s, self._limits.duration_s)
        return min(_TICK_S, max(0.0, next_s - now_s))

    def _receive(self, connection: Connection, in_flight: _InFlight) -> None:
        try:
            reply = connection.receive()
        except OSError as error:
            self._selector.unregister(connection)
            self._fail(connection, error)
            return
        if reply is None:
            return
        self._selector.unregister(connection)
        self.measurements.add_answer(reply, self._elapsed_s() - in_flight.due_s)
        if self._expected is not None and reply.status == 200:
            self._check(in_flight.sentence, reply)
        if connection.is_over:
            connection.close()
        self._idle.append(connection)

    def _check(self, sentence: str, reply: Reply) -> None:
        try:
            answer = json.loads(reply.body)
            del answer["request_id"]
        except (ValueError, KeyError, TypeError):
            answer = None
        self.measurements.unexpected += answer is None or answer != self._expected.get(sentence)

    def _give_up_late(self, now_s: float) -> None:
        late = [key for key in self._selector.get_map().values() if now_s - key.data.sent_s > PATIENCE_S]
        for key in late:
            self._selector.unregister(key.fileobj)
            self._fail(key.fileobj, TimeoutError())

    def _fail(self, connection: Connection, error: OSError) -> None:
        self.measurements.failures[_kind(error)] += 1
        connection.close()
        self._idle.append(connection)

    def _close(self) -> None:
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()
        self._selector.close()
        for connection in self._idle:
            connection.close()


def _kind(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return "connection broken" if isinstance(error, ConnectionError) else "cannot connect"
