"""Clients in a thread of their own: those of load tests and experiments send once, those of the drills keep at it.

These stay connected until they are answered, however often something behind them dies. They send again where a balancer
or a patient user would: at another replica when a connection is refused or closed before any byte of an answer, or the
replica says that it is being stopped; and after the seconds of Retry-After when they are refused.
"""

from __future__ import annotations

import asyncio
import gc
import json
import math
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from api.server.connections import allow_connections
from ops.load.arrivals import Arrivals, Limits
from ops.load.client import Client, ClosedEarly, Reply, reason_of, run

_PAUSE_S = 0.05  # from the second attempt on at replicas that are away
_PAUSE_AFTER_NONE_S = 0.01  # a server that is away must not be tried in a spin
_AT_ONCE = 32  # clients that begin before answers are read: else the first would seem to take as long as all of these
_TIMER_S = 1e-3  # those of an event loop take whole ones of these
_REFUSED = ("queue-full", "rate-limited", "not-ready")

Question = Mapping[str, Any]  # the JSON body
ENDLESS = Limits()


@dataclass(frozen=True, slots=True)
class Habits:
    """What the clients do beyond sending once."""

    returns: float = math.inf  # after so many refusals, once Retry-After is over; who does so for ever fails over, too
    is_keyed: bool = False  # an Idempotency-Key of its own with every request, the same at each attempt
    addresses: tuple[str, ...] = ("",)  # that they send from in turn; empty: whichever the system takes
    path: str = "/correct"
    headers: Mapping[str, str] = field(default_factory=dict)
    api_key: str = ""
    patience_s: float | None = 30.0  # a client without a 200 so long after it was due counts as lost


ONCE = Habits(returns=0)
MEASURED = Habits(returns=0, patience_s=None)  # but for that of `Client`, which counts from when it is sent


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request of one client, over all its attempts. Times are those of `time.monotonic`."""

    number: int
    question: Question
    key: str = ""
    due_s: float
    replica: int = 0  # the number of the client it is sent by
    ended_s: float = 0.0
    status: int = 0  # 0: no answer at all
    slug: str = ""  # of the last problem
    answer: dict[str, Any] = field(default_factory=dict)  # without its request id
    request_id: str = ""
    failovers: list[str] = field(default_factory=list)  # why another replica was tried
    refusals: list[tuple[float, float]] = field(default_factory=list)  # seconds until said, Retry-After

    @property
    def is_ok(self) -> bool:
        return self.status == 200

    @property
    def latency_s(self) -> float:
        return self.ended_s - self.due_s


class Traffic:
    """A load in a thread of its own; as a context manager it is waited for, or ended where the drill has failed.

    One without limits ends with the block.
    """

    def __init__(
        self,
        urls: Sequence[str],
        questions: Sequence[Question],
        arrivals: Arrivals,
        limits: Limits = ENDLESS,
        habits: Habits = Habits(),  # noqa: B008 - frozen
    ) -> None:
        self.ended: list[Exchange] = []
        self.on_end: Callable[[Exchange], None] = self.ended.append  # sees each request that has ended
        self.last_ok_s = 0.0
        self._clients = [Client(url, habits.api_key, address) for address in habits.addresses for url in urls]
        self._questions = [(question, json.dumps(question).encode()) for question in questions]
        self._habits = habits
        self._is_endless = limits == ENDLESS
        self._arrivals, self._limits = arrivals, limits
        self.started_s = 0.0
        self._ended_s: float | None = None
        self._num_sent = 0
        self._no_more = asyncio.Event()
        self.num_open = 0  # clients that wait, for an answer or to send again
        self._has_begun = threading.Event()
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="traffic", daemon=True)

    def __enter__(self) -> Traffic:
        self._thread.start()
        self._has_begun.wait()
        if self._fault is not None and not self.started_s:
            raise self._fault
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.hang_up()
        elif self._is_endless:
            self.send_no_more()
        self._thread.join()
        if self._fault is not None and kind is None:
            raise self._fault

    @property
    def is_over(self) -> bool:
        return not self._thread.is_alive()

    @property
    def elapsed_s(self) -> float:
        return (self._ended_s or time.monotonic()) - self.started_s

    def wait(self, seconds: float) -> bool:
        """So long, or until it is over; returns whether it is."""
        self._thread.join(seconds)
        return self.is_over

    def send_no_more(self) -> None:
        """What is under way is still waited for."""
        self._call(self._no_more.set)

    def hang_up(self) -> None:
        """All of them, at once."""
        self._call(self._sending.cancel)

    def _call(self, what: Any) -> None:
        with suppress(RuntimeError):  # its loop is closed: all is over
            self._event_loop.call_soon_threadsafe(what)

    def _run(self) -> None:
        sending = self._send_all()
        try:
            with suppress(asyncio.CancelledError):
                run(sending)
        except BaseException as error:
            self._fault = error
        finally:
            sending.close()
            self._has_begun.set()  # wakes __enter__ where no loop could be made: no file may be left for it

    async def _send_all(self) -> None:
        """Until the limits are reached and everything on its way has ended; the first exception ends it.

        Every connection that the arrivals allow is a task, which waits for the next time that is due and then sends.
        Where all of them are taken the next request waits, and its wait counts.
        """
        self._event_loop, turn, tasks = asyncio.get_running_loop(), asyncio.Lock(), []
        self._sending: Any = asyncio.current_task()
        allow_connections(self._arrivals.max_connections)
        is_collecting = gc.isenabled()
        gc.disable()  # it looks through all that is kept: with 700,000 requests nothing is sent or read for 2.5 s
        self.started_s = time.monotonic()
        self._has_begun.set()
        try:
            for number in range(self._arrivals.max_connections):
                tasks.append(asyncio.create_task(self._be_client(turn)))
                if number % _AT_ONCE == 0:
                    await asyncio.sleep(0)
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._ended_s = time.monotonic()
            if is_collecting:
                gc.enable()
            for client in self._clients:
                await client.close()

    async def _be_client(self, turn: asyncio.Lock) -> None:
        while True:
            async with turn:
                due_s = await self._next_due_s()
                if due_s is None:
                    return
                number = self._num_sent
                self._num_sent += 1
            await self._see_through(number, self.started_s + due_s)

    async def _next_due_s(self) -> float | None:
        """Wait until it is due; None where nothing more is. What was due in time is sent, however late."""
        due_s = self._arrivals.draw(self.elapsed_s)
        if self._no_more.is_set() or self._limits.are_reached(self._num_sent, -1.0):
            return None
        is_late = self._limits.are_reached(self._num_sent, due_s)
        end_s = self._limits.duration_s
        rest_s = (due_s if end_s is None else min(due_s, end_s)) - self.elapsed_s
        if rest_s > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._no_more.wait(), ceil(rest_s / _TIMER_S) * _TIMER_S)
                return None
        return None if is_late else min(due_s, self.elapsed_s)  # a timer may end early

    async def _see_through(self, number: int, due_s: float) -> None:
        key = secrets.token_hex(8) if self._habits.is_keyed else ""
        question, body = self._questions[number % len(self._questions)]
        exchange = Exchange(number=number, question=question, key=key, due_s=due_s, replica=number % len(self._clients))
        patience_s = self._habits.patience_s
        self.num_open += 1
        try:
            async with asyncio.timeout(None if patience_s is None else due_s + patience_s - time.monotonic()):
                while (after_s := await self._attempt(exchange, body)) is not None:
                    await asyncio.sleep(after_s)
        except TimeoutError:
            last = exchange.slug or "nothing"
            exchange.status, exchange.slug = 0, f"no 200 within {patience_s:g} s, last: {last}"
        finally:
            self.num_open -= 1
        exchange.ended_s = time.monotonic()
        if exchange.is_ok:
            self.last_ok_s = exchange.ended_s
        self.on_end(exchange)
        if not exchange.status:
            await asyncio.sleep(_PAUSE_AFTER_NONE_S)

    async def _attempt(self, exchange: Exchange, body: bytes) -> float | None:
        """The seconds until the next one; None where the exchange is over."""
        headers = {**self._habits.headers, **key_header(exchange.key)} if exchange.key else self._habits.headers
        client, sent_s = self._clients[exchange.replica], time.monotonic()
        try:
            reply = await client.request("POST", self._habits.path, body, headers)
        except OSError as error:
            return self._broken(exchange, error)
        self._note(exchange, reply)
        if exchange.slug in _REFUSED:
            after_s = float(exchange.answer.get("retry_after_s", 1))
            exchange.refusals.append((time.monotonic() - sent_s, after_s))
            return after_s if len(exchange.refusals) <= self._habits.returns else None
        return self._fail_over(exchange, exchange.slug) if exchange.slug == "shutting-down" else None

    def _note(self, exchange: Exchange, reply: Reply) -> None:
        exchange.status, exchange.answer = reply.status, document_of(reply.body)
        exchange.request_id = str(exchange.answer.pop("request_id", ""))
        exchange.slug = "" if exchange.is_ok else str(exchange.answer.get("type", "")).rsplit(":", 1)[-1]

    def _broken(self, exchange: Exchange, error: OSError) -> float | None:
        has_begun = isinstance(error, ClosedEarly) and error.has_begun
        exchange.status, exchange.slug = 0, reason_of(error)
        return self._fail_over(exchange, exchange.slug) if not has_begun or exchange.key else None

    def _fail_over(self, exchange: Exchange, why: str) -> float | None:
        if math.isfinite(self._habits.returns):
            return None
        exchange.failovers.append(why)
        exchange.replica = (exchange.replica + 1) % len(self._clients)
        return 0.0 if len(exchange.failovers) < len(self._clients) else _PAUSE_S


def key_header(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def document_of(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
