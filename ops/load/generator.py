"""The load generator: sends what is due, counts what came back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ops.load.arrivals import Arrivals, Limits
from ops.load.clients import Clients, Request
from ops.load.connection import Connection, Reply, Target
from ops.load.measurements import Measurements

PATIENCE_S = 60.0  # for one answer; longer than a server's own deadline
_PAUSE_S = 0.01  # after a connection that could not be made: a server that is away must not be tried in a spin


class NoKeyError(Exception):
    """The server answered no request but with 401; the body of that answer."""


Expected = Mapping[str, Mapping[str, Any]]  # sentence -> its answer without request_id; not of those to be refused


@dataclass(slots=True, kw_only=True)
class _InFlight(Request):
    """A request on its way."""

    sentence: str


class Generator(Clients):
    """One load. `on_tick` sees the measurements as they grow."""

    def __init__(
        self, target: Target, sentences: Sequence[str], arrivals: Arrivals, limits: Limits, expected: Expected | None
    ) -> None:
        super().__init__([target], arrivals, limits)
        self.measurements = Measurements()
        self._sentences = sentences
        self._expected = expected
        self._bodies = [json.dumps({"sentence": sentence}).encode() for sentence in sentences]
        self._on_tick: Callable[[Measurements], None] = lambda _: None

    def run(self, on_tick: Callable[[Measurements], None] = lambda _: None) -> Measurements:
        """Run until the limits are reached and everything on its way has ended. Raises NoKeyError."""
        self._on_tick = on_tick
        self._loop()
        self._tick()  # also where nothing could be sent, and so nothing came back
        return self.measurements

    def _begin(self, number: int, due_s: float) -> None:
        number %= len(self._sentences)
        self._send(_InFlight(due_s=due_s, sentence=self._sentences[number]), self._bodies[number])

    def _answered(self, request: _InFlight, reply: Reply) -> None:
        self.measurements.add_answer(reply, time.monotonic() - request.due_s)
        if reply.status == 401 and not self.measurements.statuses[200]:
            raise NoKeyError(reply.body)
        if self._expected is not None and reply.status == 200:
            self._check(request.sentence, reply)

    def _check(self, sentence: str, reply: Reply) -> None:
        try:
            answer = json.loads(reply.body)
            del answer["request_id"]
        except (ValueError, KeyError, TypeError):
            answer = None
        self.measurements.unexpected += answer is None or answer != self._expected.get(sentence)

    def _broken(self, request: _InFlight, error: OSError, connection: Connection) -> None:
        self.measurements.failures[_kind(error)] += 1
        if not connection.has_sent:
            time.sleep(_PAUSE_S)

    def _look(self, now_s: float) -> None:
        for key in list(self.selector.get_map().values()):
            if now_s - key.data.sent_s > PATIENCE_S:
                self._hang_up(key.data)
                self.measurements.failures["timeout"] += 1
        self._tick()

    def _tick(self) -> None:
        self.measurements.elapsed_s = self._elapsed_s()
        self._on_tick(self.measurements)


def _kind(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return "connection broken" if isinstance(error, ConnectionError) else "cannot connect"
