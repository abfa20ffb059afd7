"""What the whole system looks like now: the question, and its answer read into plain values."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from redis import Redis, ResponseError

from scheduler.observed import Moment, Observed, WorkerFacts
from worker.mailbox.line import Command, Line, LineDown, script
from worker.mailbox.protocol import READY_WITHIN_S, MailboxDown

_MOMENT = tuple(spec.name for spec in fields(Moment))


class Observatory:
    """For processes that only watch. Used from one thread; connects when first asked."""

    def __init__(self, client: Redis) -> None:
        self._line = Line(client)

    def observe(self) -> Observed:
        """One round trip. Raises MailboxDown."""
        try:
            (reply,) = self._line.ask(observe_command())
        except LineDown as error:
            raise MailboxDown(str(error)) from error
        if isinstance(reply, ResponseError):
            raise MailboxDown(str(reply)) from reply
        return observed_of(reply)

    def close(self) -> None:
        self._line.close()


def observe_command() -> Command:
    return script("observe", READY_WITHIN_S)


def observed_of(reply: list[Any]) -> Observed:
    """Of OBSERVE's reply."""
    moments, counts, totals, workers, num_apis, depth, num_open, num_running, tokens = reply[:9]
    oldest_waiting_s, oldest_running_s, dead_letters, memory, max_memory, duplicates = reply[9:]
    *history, now = map(_moment, moments)
    counted = {name: int(value) for name, value in _pairs(counts)}
    return Observed(
        now=now,
        history=tuple(history),
        workers=tuple(map(_facts, workers)),
        num_api_replicas=num_apis,
        counts=counted | {"duplicates": duplicates},
        totals={name: float(value) for name, value in _pairs(totals)},
        queue_depth=depth,
        num_waiting=num_open - min(num_running, num_open),
        num_running=min(num_running, num_open),
        reserved_tokens=tokens,
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
