"""The loop of a load: it sends what is due, until the load is over.

Every connection that the arrivals allow is a task, which waits for the next time that is due and then sends. Where all
of them are taken the next request waits, and its wait counts.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from math import ceil

from api.server.connections import allow_connections
from ops.load.arrivals import Arrivals, Limits

_AT_ONCE = 32  # clients that begin before answers are read: else the first would seem to take as long as all of these
_TIMER_S = 1e-3  # those of an event loop take whole ones of these


class Loop:
    """One load; times are those of `time.monotonic`. `send(number, due_s)` sees one request to its end."""

    def __init__(self, arrivals: Arrivals, limits: Limits, send: Callable[[int, float], Awaitable[None]]) -> None:
        self.started_s = 0.0
        self._ended_s: float | None = None
        self._arrivals, self._limits, self._send = arrivals, limits, send
        self._num_sent = 0
        self._is_over = asyncio.Event()

    @property
    def elapsed_s(self) -> float:
        return (self._ended_s or time.monotonic()) - self.started_s

    def stop(self) -> None:
        """Send nothing more; what is under way is still waited for."""
        self._is_over.set()

    async def run(self) -> None:
        """Until the limits are reached and everything on its way has ended; the first exception of `send` ends it."""
        allow_connections(self._arrivals.max_connections)
        is_collecting = gc.isenabled()
        gc.disable()  # it looks through all that is kept: with 700,000 requests nothing is sent or read for 2.5 s
        self.started_s, turn, clients = time.monotonic(), asyncio.Lock(), []
        try:
            for number in range(self._arrivals.max_connections):
                clients.append(asyncio.create_task(self._be_client(turn)))
                if number % _AT_ONCE == 0:
                    await asyncio.sleep(0)
            await asyncio.gather(*clients)
        finally:
            for client in clients:
                client.cancel()
            await asyncio.gather(*clients, return_exceptions=True)
            self._ended_s = time.monotonic()
            if is_collecting:
                gc.enable()

    async def _be_client(self, turn: asyncio.Lock) -> None:
        while True:
            async with turn:
                due_s = await self._next_due_s()
                if due_s is None:
                    return
                number = self._num_sent
                self._num_sent += 1
            await self._send(number, self.started_s + due_s)

    async def _next_due_s(self) -> float | None:
        """Wait until it is due; None where nothing more is. What was due in time is sent, however late."""
        due_s = self._arrivals.draw(self.elapsed_s)
        if self._is_over.is_set() or self._limits.are_reached(self._num_sent, -1.0):
            return None
        is_late = self._limits.are_reached(self._num_sent, due_s)
        end_s = self._limits.duration_s
        rest_s = (due_s if end_s is None else min(due_s, end_s)) - self.elapsed_s
        if rest_s > 0 and await self._is_stopped_within(ceil(rest_s / _TIMER_S) * _TIMER_S):
            return None
        return None if is_late else min(due_s, self.elapsed_s)  # a timer may end early

    async def _is_stopped_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._is_over.wait(), seconds)
        except TimeoutError:
            return False
        return True
