"""What the whole system looks like now: the questions, and their answers read into plain values.

`SystemReader` is for processes that only watch. `StatusClient` asks what /readyz goes by, on a connection of its own:
the API's other questions go through its one sender, in turn with all requests, and under an overload that is too late.
What the replica has counted goes along with that question.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from redis import Redis

from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from worker.mailbox.connection import Command, RedisConnection, checked, refusal_of, script
from worker.mailbox.protocol import READY_WITHIN_S, MailboxDown, MailboxStatus
from worker.mailbox.reporter import Reporter

_MOMENT = tuple(spec.name for spec in fields(Moment))


class SystemReader:
    """For processes that only watch. Used from one thread; connects when first asked."""

    def __init__(self, client: Redis) -> None:
        self._connection = RedisConnection(client)

    def observe(self) -> Observed:
        """One round trip. Raises MailboxDown."""
        return observed_of(self._connection.ask_one(observe_command()))

    def close(self) -> None:
        self._connection.close()


class StatusClient:
    """Used from one thread."""

    def __init__(self, client: Redis, totals: Callable[[], Mapping[str, float]]) -> None:
        self._connection = RedisConnection(client)
        self._totals = totals
        self._reporter = Reporter(is_api=True)

    def status(self) -> MailboxStatus:
        """One round trip, bounded by the client's timeout; never raises for a Redis that is away."""
        try:
            reply, told = self._connection.ask(status_command(), self._reporter.command(self._totals()))
            self._reporter.note_reply(told)
            return status_of(checked(reply))
        except MailboxDown as error:
            return MailboxStatus(redis_ok=False, refusal=refusal_of(error))


def status_command() -> Command:
    return script("status", READY_WITHIN_S)


def status_of(reply: list[Any]) -> MailboxStatus:
    """Of STATUS' reply."""
    return MailboxStatus(True, *reply[:4], float(reply[4]), reply[5].decode())


def observe_command() -> Command:
    return script("observe", READY_WITHIN_S)


def observed_of(reply: list[Any]) -> Observed:
    """Of OBSERVE's reply."""
    moments, counts, totals, workers, num_apis, depth, num_open, num_running = reply[:8]
    oldest_waiting_s, oldest_running_s, dead_letters, memory, max_memory = reply[8:]
    *history, now = map(_moment, moments)
    counted = {name: int(float(value)) for name, value in _pairs(counts)}
    return Observed(
        now=now,
        history=tuple(history),
        workers=tuple(map(_facts, workers)),
        num_api_replicas=num_apis,
        counts={"duplicates": 0} | counted,
        totals={name: float(value) for name, value in _pairs(totals)},
        queue_depth=depth,
        num_waiting=num_open - min(num_running, num_open),
        num_running=min(num_running, num_open),
        reserved_tokens=counted.get("reserved_tokens", 0),
        oldest_waiting_s=float(oldest_waiting_s),
        oldest_running_s=float(oldest_running_s),
        dead_letters=dead_letters,
        redis_memory_bytes=memory,
        redis_max_memory_bytes=max_memory,
    )


def _pairs(flat: list[bytes]) -> list[tuple[str, bytes]]:
    return [(name.decode(), value) for name, value in zip(flat[::2], flat[1::2], strict=True)]


def _moment(raw: bytes) -> Moment:
    row = json.loads(raw)
    known = {name: row[name] for name in _MOMENT if name in row}  # a later version, beside us, may tell more
    # Redis' Lua writes an empty table as a list or an object: what was never counted is neither.
    return Moment(**known | {"iterations": row["iterations"] or {}})


def _facts(row: list[bytes]) -> WorkerFacts:
    name, num_running, num_waiting, reserved, budget, slots, tokens_per_s = row
    whole = [int(float(value or 0)) for value in (num_running, num_waiting, reserved, budget, slots)]
    return WorkerFacts(name.decode(), *whole, float(tokens_per_s or 0))
