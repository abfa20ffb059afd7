"""Clients that keep at it: connected until they are answered, however often something behind them dies.

One thread, one selector. A client sends again where a balancer or a patient user would: at another replica when a
connection is refused, or closed before any byte of an answer, or the replica says that it is being stopped; and after
the seconds of Retry-After when it is refused. Times are those of `time.monotonic`, so that a drill can compare them
with what it did.
"""

from __future__ import annotations

import heapq
import json
import secrets
import selectors
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from api.server.open_files import allow_connections
from ops.load.arrivals import Arrivals, Limits
from ops.load.connection import Connection, Reply, Target

PATIENCE_S = 30.0  # a client without a 200 by then counts as lost
_TICK_S = 0.1
_PAUSE_S = 0.05  # from the second attempt on at replicas that are away
_REFUSED = ("queue-full", "not-ready")

Question = Mapping[str, str]  # the JSON body
ENDLESS = Limits()


@dataclass(frozen=True, slots=True)
class Habits:
    """What the clients do beyond sending once."""

    retries: bool = True
    is_keyed: bool = False  # an Idempotency-Key of its own with every request, the same at each attempt
    obeys_once: bool = False  # a refused one comes back after Retry-After, once


@dataclass(slots=True)
class Exchange:
    """One request of one client, over all its attempts."""

    number: int
    question: Question
    key: str
    due_s: float
    replica: int
    sent_s: float = 0.0  # the last attempt
    ended_s: float = 0.0
    status: int = 0  # 0: no answer at all
    slug: str = ""  # of the last problem
    answer: dict[str, Any] = field(default_factory=dict)  # without its request id
    request_id: str = ""
    server_timing: bytes = b""  # of the last answer
    failovers: list[str] = field(default_factory=list)  # why another replica was tried
    refusals: list[tuple[float, float]] = field(default_factory=list)  # seconds until said, Retry-After
    connection: Connection | None = None  # while an attempt is under way

    @property
    def is_ok(self) -> bool:
        return self.status == 200

    @property
    def latency_s(self) -> float:
        return self.ended_s - self.due_s


class Traffic:
    """A load in a thread of its own; as a context manager it is waited for, or ended where the drill has failed."""

    def __init__(
        self,
        urls: Sequence[str],
        questions: Sequence[Question],
        arrivals: Arrivals,
        limits: Limits = ENDLESS,
        habits: Habits = Habits(),  # noqa: B008 - frozen
    ) -> None:
        self.ended: list[Exchange] = []
        self.last_ok_s = 0.0
        self._targets = [Target.from_url(url) for url in urls]
        self._questions = questions
        self._bodies = [json.dumps(question).encode() for question in questions]
        self._arrivals = arrivals
        self._limits = limits
        self._habits = habits
        self._idle: list[list[Connection]] = [[] for _ in urls]
        self._open: dict[int, Exchange] = {}
        self._again: list[tuple[float, int]] = []  # heap: when, number
        self._selector = selectors.DefaultSelector()
        self._num_begun = 0
        self._started_s = 0.0
        self._looked_s = 0.0
        self._takes_more, self._is_aborted = True, False
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="traffic", daemon=True)

    def __enter__(self) -> Traffic:
        allow_connections(self._arrivals.max_connections)
        self._started_s = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._takes_more = False
        self._is_aborted = kind is not None
        self._thread.join()
        if self._fault is not None and kind is None:
            raise self._fault

    @property
    def is_over(self) -> bool:
        return not self._thread.is_alive()

    @property
    def num_open(self) -> int:
        """Clients that wait."""
        return len(self._open)

    def send_no_more(self) -> None:
        """What is under way is still waited for."""
        self._takes_more = False

    def _run(self) -> None:
        try:
            while not self._is_aborted and (self._begin_due() or self._open):
                for key, _ in self._selector.select(self._rest_s()):
                    self._receive(key.data)
                self._send_again()
                self._give_up()
        except BaseException as error:
            self._fault = error
        finally:
            self._close()

    def _begin_due(self) -> bool:
        """Whether more is to come."""
        while self._takes_more:
            elapsed_s = time.monotonic() - self._started_s
            if self._limits.are_reached(self._num_begun, elapsed_s):
                return False
            due_s = self._arrivals.take(elapsed_s, len(self._open))
            if due_s is None:
                return True
            self._begin(self._started_s + due_s)
        return False

    def _begin(self, due_s: float) -> None:
        number = self._num_begun
        self._num_begun += 1
        key = secrets.token_hex(8) if self._habits.is_keyed else ""
        question = self._questions[number % len(self._questions)]
        self._open[number] = Exchange(number, question, key, due_s, number % len(self._targets))
        self._send(self._open[number])

    def _send(self, exchange: Exchange) -> None:
        idle = self._idle[exchange.replica]
        connection = idle.pop() if idle else Connection(self._targets[exchange.replica])
        exchange.sent_s, exchange.connection = time.monotonic(), connection
        headers = key_header(exchange.key) if exchange.key else b""
        try:
            connection.send(self._bodies[exchange.number % len(self._bodies)], headers)
        except OSError:
            self._break(exchange, "connection refused")
            return
        self._selector.register(connection, selectors.EVENT_READ, exchange)

    def _rest_s(self) -> float:
        """Until something is due that no answer wakes us for. With all connections taken only an answer helps."""
        now = time.monotonic()
        next_s = self._arrivals.next_s() if len(self._open) < self._arrivals.max_connections else None
        due = [self._started_s + next_s] if next_s is not None and self._takes_more else []
        due += [self._again[0][0]] if self._again else []
        return min([_TICK_S, *(max(0.0, at_s - now) for at_s in due)])

    def _receive(self, exchange: Exchange) -> None:
        connection = exchange.connection
        try:
            reply = connection.receive()
        except OSError:
            self._selector.unregister(connection)
            self._break(exchange, "closed before the answer")
            return
        if reply is None:
            return
        self._selector.unregister(connection)
        if connection.is_over:
            connection.close()
        self._put_back(exchange)
        self._take_answer(exchange, reply)

    def _take_answer(self, exchange: Exchange, reply: Reply) -> None:
        exchange.status, exchange.answer = reply.status, document_of(reply.body)
        exchange.server_timing = reply.server_timing
        exchange.request_id = str(exchange.answer.pop("request_id", ""))
        exchange.slug = "" if exchange.is_ok else str(exchange.answer.get("type", "")).rsplit(":", 1)[-1]
        if exchange.slug in _REFUSED:
            after_s = float(exchange.answer.get("retry_after_s", 1))
            exchange.refusals.append((time.monotonic() - exchange.sent_s, after_s))
            if self._habits.retries or self._habits.obeys_once and len(exchange.refusals) == 1:
                self._plan(exchange, after_s)
                return
        if exchange.slug == "shutting-down" and self._habits.retries:
            self._fail_over(exchange, exchange.slug)
            return
        self._end(exchange)

    def _break(self, exchange: Exchange, why: str) -> None:
        is_unanswered = not exchange.connection.has_begun
        exchange.connection.close()
        self._put_back(exchange)
        if self._habits.retries and (is_unanswered or exchange.key):
            self._fail_over(exchange, why)
        else:
            exchange.status, exchange.slug = 0, why
            self._end(exchange)

    def _fail_over(self, exchange: Exchange, why: str) -> None:
        exchange.failovers.append(why)
        exchange.replica = (exchange.replica + 1) % len(self._targets)
        self._plan(exchange, 0.0 if len(exchange.failovers) < len(self._targets) else _PAUSE_S)

    def _plan(self, exchange: Exchange, after_s: float) -> None:
        heapq.heappush(self._again, (time.monotonic() + after_s, exchange.number))

    def _put_back(self, exchange: Exchange) -> None:
        self._idle[exchange.replica].append(exchange.connection)
        exchange.connection = None

    def _send_again(self) -> None:
        now = time.monotonic()
        while self._again and self._again[0][0] <= now:
            exchange = self._open.get(heapq.heappop(self._again)[1])
            if exchange is not None:
                self._send(exchange)

    def _give_up(self) -> None:
        now = time.monotonic()
        if now - self._looked_s < _TICK_S:
            return
        self._looked_s = now
        for exchange in [one for one in self._open.values() if now - one.due_s > PATIENCE_S]:
            if exchange.connection is not None:
                self._selector.unregister(exchange.connection)
                exchange.connection.close()
            exchange.status, exchange.slug = 0, f"no 200 within {PATIENCE_S:g} s, last: {exchange.slug or 'nothing'}"
            self._end(exchange)

    def _end(self, exchange: Exchange) -> None:
        exchange.ended_s = time.monotonic()
        if exchange.is_ok:
            self.last_ok_s = exchange.ended_s
        del self._open[exchange.number]
        self.ended.append(exchange)

    def _close(self) -> None:
        for exchange in self._open.values():
            if exchange.connection is not None:
                exchange.connection.close()
        for connection in (one for idle in self._idle for one in idle):
            connection.close()
        self._selector.close()


def key_header(key: str) -> bytes:
    return f"Idempotency-Key: {key}\r\n".encode()


def document_of(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
