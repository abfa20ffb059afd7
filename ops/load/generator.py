"""The load generator: sends what is due, counts what came back."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence

import click

from ops.load.arrivals import Arrivals, Limits
from ops.load.client import Client, refusal, run
from ops.load.loop import Loop
from ops.load.measurements import Measurements

_PAUSE_S = 0.01  # after a request without an answer: a server that is away must not be tried in a spin
_TICK_S = 0.1


class NoKeyError(click.ClickException):
    """The server answered no request but with 401."""


class Generator:
    """One load of sentences, each a POST of JSON."""

    path = "/correct"

    def __init__(self, client: Client, sentences: Sequence[str], arrivals: Arrivals, limits: Limits) -> None:
        self.measurements = Measurements()
        self._client = client
        self._bodies = [json.dumps({"sentence": sentence}).encode() for sentence in sentences]
        self._arrivals, self._limits = arrivals, limits

    def run(self, on_tick: Callable[[Measurements], None] = lambda _: None) -> Measurements:
        """Run until the limits are reached and everything on its way has ended. Raises NoKeyError.

        `on_tick` sees the measurements as they grow.
        """
        return run(self._run(on_tick))

    async def _run(self, on_tick: Callable[[Measurements], None]) -> Measurements:
        loop = Loop(self._arrivals, self._limits, self._send)
        ticks = asyncio.create_task(self._tick(loop, on_tick))
        try:
            await loop.run()
        finally:
            ticks.cancel()
            await self._client.close()
        self.measurements.elapsed_s = loop.elapsed_s
        on_tick(self.measurements)
        return self.measurements

    async def _send(self, number: int, due_s: float) -> None:
        try:
            reply = await self._client.request("POST", self.path, self._bodies[number % len(self._bodies)])
        except OSError as error:
            self.measurements.failures[_kind(error)] += 1
            await asyncio.sleep(_PAUSE_S)
            return
        self.measurements.add_answer(reply, time.monotonic() - due_s)
        if reply.status == 401 and not self.measurements.statuses[200]:
            raise NoKeyError(f"POST {self._client.url}{self.path} answers {refusal(reply)}")

    async def _tick(self, loop: Loop, on_tick: Callable[[Measurements], None]) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            self.measurements.elapsed_s = loop.elapsed_s
            on_tick(self.measurements)


def _kind(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return "connection broken" if isinstance(error, ConnectionError) else "cannot connect"
