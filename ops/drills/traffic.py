"""Clients that keep at it: connected until they are answered, however often something behind them dies.

A client sends again where a balancer or a patient user would: at another replica when a connection is refused or closed
before any byte of an answer, or the replica says that it is being stopped; and after the seconds of Retry-After when it
is refused.
"""

from __future__ import annotations

import heapq
import json
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ops.load.arrivals import Arrivals, Limits
from ops.load.clients import AT_ONCE, Clients, Request
from ops.load.connection import Connection, Reply, Target

PATIENCE_S = 30.0  # a client without a 200 by then counts as lost
_PAUSE_S = 0.05  # from the second attempt on at replicas that are away
_REFUSED = ("queue-full", "rate-limited", "not-ready")

Question = Mapping[str, Any]  # the JSON body
ENDLESS = Limits()


@dataclass(frozen=True, slots=True)
class Habits:
    """What the clients do beyond sending once."""

    retries: bool = True
    is_keyed: bool = False  # an Idempotency-Key of its own with every request, the same at each attempt
    obeys_once: bool = False  # a refused one comes back after Retry-After, once
    addresses: tuple[str, ...] = ("",)  # that they send from in turn; empty: whichever the system takes
    urls: tuple[str, ...] = ()  # that they know, instead of all
    path: str = "/correct"
    headers: bytes = b""  # further lines, each with its end


@dataclass(slots=True, kw_only=True)
class Exchange(Request):
    """One request of one client, over all its attempts."""

    number: int
    question: Question
    key: str
    ended_s: float = 0.0
    status: int = 0  # 0: no answer at all
    slug: str = ""  # of the last problem
    answer: dict[str, Any] = field(default_factory=dict)  # without its request id
    request_id: str = ""
    server_timing: bytes = b""  # of the last answer
    failovers: list[str] = field(default_factory=list)  # why another replica was tried
    refusals: list[tuple[float, float]] = field(default_factory=list)  # seconds until said, Retry-After
    own: Connection | None = None  # while the client waits to send again: nobody else uses it meanwhile

    @property
    def is_ok(self) -> bool:
        return self.status == 200

    @property
    def latency_s(self) -> float:
        return self.ended_s - self.due_s


class Traffic(Clients):
    """A load in a thread of its own; as a context manager it is waited for, or ended where the drill has failed."""

    def __init__(
        self,
        urls: Sequence[str],
        questions: Sequence[Question],
        arrivals: Arrivals,
        limits: Limits = ENDLESS,
        habits: Habits = Habits(),  # noqa: B008 - frozen
    ) -> None:
        path = b"POST %s HTTP" % habits.path.encode()
        targets = [
            replace(target := Target.from_url(url, address), head=target.head.replace(b"POST /correct HTTP", path))
            for address in habits.addresses
            for url in habits.urls or urls
        ]
        super().__init__(targets, arrivals, limits)
        self.ended: list[Exchange] = []
        self.last_ok_s = 0.0
        self._questions = questions
        self._bodies = [json.dumps(question).encode() for question in questions]
        self._habits = habits
        self._open: dict[int, Exchange] = {}
        self._again: list[tuple[float, int]] = []  # heap: when, number
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="traffic", daemon=True)

    def __enter__(self) -> Traffic:
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._takes_more = False
        self._is_aborted |= kind is not None
        self._thread.join()
        if self._fault is not None and kind is None:
            raise self._fault

    @property
    def is_over(self) -> bool:
        return not self._thread.is_alive()

    @property
    def num_open(self) -> int:
        """Clients that wait, for an answer or to send again."""
        return len(self._open)

    def hang_up(self) -> None:
        """All of them, within a tenth of a second."""
        self._is_aborted = True

    def send_no_more(self) -> None:
        """What is under way is still waited for."""
        self._takes_more = False

    def _run(self) -> None:
        try:
            self._loop()
        except BaseException as error:
            self._fault = error

    def _begin(self, number: int, due_s: float) -> None:
        key = secrets.token_hex(8) if self._habits.is_keyed else ""
        question, replica = self._questions[number % len(self._questions)], number % len(self._targets)
        self._open[number] = Exchange(number=number, question=question, key=key, due_s=due_s, replica=replica)
        self._attempt(self._open[number])

    def _attempt(self, exchange: Exchange) -> None:
        self._share(exchange)
        headers = self._habits.headers + (key_header(exchange.key) if exchange.key else b"")
        self._send(exchange, self._bodies[exchange.number % len(self._bodies)], headers)

    def _wakes_s(self) -> list[float]:
        return [self._again[0][0]] if self._again else []

    def _answered(self, exchange: Exchange, reply: Reply) -> None:
        exchange.status, exchange.answer = reply.status, document_of(reply.body)
        exchange.server_timing = reply.server_timing
        exchange.request_id = str(exchange.answer.pop("request_id", ""))
        exchange.slug = "" if exchange.is_ok else str(exchange.answer.get("type", "")).rsplit(":", 1)[-1]
        if exchange.slug in _REFUSED:
            after_s = float(exchange.answer.get("retry_after_s", 1))
            exchange.refusals.append((time.monotonic() - exchange.sent_s, after_s))
            if self._habits.retries or self._habits.obeys_once and len(exchange.refusals) == 1:
                exchange.own = self._idle[exchange.replica].pop()  # on which the refusal came
                self._plan(exchange, after_s)
                return
        if exchange.slug == "shutting-down" and self._habits.retries:
            self._fail_over(exchange, exchange.slug)
            return
        self._end(exchange)

    def _broken(self, exchange: Exchange, error: OSError, connection: Connection) -> None:
        why = "closed before the answer" if connection.has_sent else "connection refused"
        if self._habits.retries and (not connection.has_begun or exchange.key):
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

    def _go_on(self, now_s: float) -> None:
        for _ in range(AT_ONCE):
            if not self._again or self._again[0][0] > now_s:
                return
            exchange = self._open.get(heapq.heappop(self._again)[1])
            if exchange is not None:
                self._attempt(exchange)

    def _look(self, now_s: float) -> None:
        for exchange in [one for one in self._open.values() if now_s - one.due_s > PATIENCE_S]:
            self._hang_up(exchange)
            exchange.status, exchange.slug = 0, f"no 200 within {PATIENCE_S:g} s, last: {exchange.slug or 'nothing'}"
            self._end(exchange)

    def _share(self, exchange: Exchange) -> None:
        """Its own connection is the next that is used."""
        if exchange.own is not None:
            self._idle[exchange.replica].append(exchange.own)
            exchange.own = None

    def _end(self, exchange: Exchange) -> None:
        self._share(exchange)
        exchange.ended_s = time.monotonic()
        if exchange.is_ok:
            self.last_ok_s = exchange.ended_s
        del self._open[exchange.number]
        self.ended.append(exchange)


def key_header(key: str) -> bytes:
    return f"Idempotency-Key: {key}\r\n".encode()


def document_of(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
