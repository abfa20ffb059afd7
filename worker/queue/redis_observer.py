"""Looks at the whole system, and at what is kept of a request. No other request waits for this."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from enum import Enum
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.errors import ServingError
from scheduler.messages import Completion
from worker.queue import admission
from worker.queue.connection import Address, Command, RedisConnection, script
from worker.queue.formats import is_request_id, number, outcome_of
from worker.queue.heartbeat import LIVE, WATCH
from worker.queue.protocol import READY_WITHIN_S

_MOMENT = tuple(spec.name for spec in fields(Moment))
_MOST_NEWS = 256  # of one look: a few of each worker
_MOST_MOMENTS = 256  # twice what OBSERVE tells: all of it but two rows is what the last look read


class Phase(Enum):
    """Where a job without an outcome is."""

    QUEUED = "queued"
    RUNNING = "running"


_PHASES = {b"queued": Phase.QUEUED, b"started": Phase.RUNNING}


def phase_of(states: Sequence[object]) -> Phase | None:
    """The phase of a request, from what is known of each of its jobs: its Phase, or how it ended. None: all ended."""
    if not any(isinstance(state, Phase) for state in states):
        return None
    return Phase.QUEUED if all(state is Phase.QUEUED for state in states) else Phase.RUNNING


class FoundJob(NamedTuple):
    """One job of a recorded request."""

    job_id: str
    state: Phase | Completion | ServingError


class Found(NamedTuple):
    """A recorded request and what became of it."""

    content: Mapping[str, Any]  # as the API has kept it
    tokenizer_fingerprint: str
    jobs: tuple[FoundJob, ...]


class RedisObserver:
    """`ask` sends a command to Redis and returns its reply, or raises NotReady."""

    def __init__(self, ask: Callable[[Command], Awaitable[Any]]) -> None:
        self._ask = ask

    async def observe(self) -> Observed:
        """Everything that metrics are made of, at one moment."""
        return observed_of(await self._ask(script("observe", READY_WITHIN_S)))

    async def find(self, request_id: str) -> Found | None:
        """A recorded request; None for one that is not known, or not any more."""
        return _found_of(await self._ask(script("find", request_id))) if is_request_id(request_id) else None

    async def is_first(self, request_id: str) -> bool:
        """Whether this asks for the answers of a recorded request that nobody waits for, and did never before."""
        return bool(await self._ask(script("first", request_id)))

    async def news(self, since: str) -> tuple[list[str], str]:
        """What workers did after a place, as JSON, and the next place; '' is now. They report while somebody asks."""
        await self._ask(WATCH)
        if not since:  # what others watched before is no news
            newest = await self._ask(("XREVRANGE", LIVE, "+", "-", "COUNT", 1))
            return [], newest[0][0].decode() if newest else "0-0"
        entries = await self._ask(("XRANGE", LIVE, f"({since}", "+", "COUNT", _MOST_NEWS))
        news = [fields[1].decode(errors="replace") for _, fields in entries]
        return news, entries[-1][0].decode() if entries else since


class SystemReader:
    """Reads the system for processes that only watch, over its own connection, from one thread. Raises MailboxDown."""

    def __init__(self, address: Address) -> None:
        self._connection = RedisConnection(address)

    def observe(self) -> Observed:
        return observed_of(self._connection.ask_one(script("observe", READY_WITHIN_S)))

    def close(self) -> None:
        self._connection.close()


def observed_of(reply: list[Any]) -> Observed:
    """Read OBSERVE's reply."""
    moments, counts, totals, workers, num_apis, depth, num_open, num_running = reply[:8]
    oldest_waiting_s, oldest_running_s, dead_letters, memory, max_memory, policy = reply[8:14]
    foreign, refused, suspended = reply[14:]
    counted = {name: int(value) for name, value in _numbers(counts)}
    return Observed(
        now=_moment(moments[-1]) or Moment(0.0),
        history=tuple(filter(None, map(_moment, moments[:-1]))),
        workers=tuple(map(_facts, workers)),
        num_api_replicas=num_apis,
        counts={"duplicates": 0} | counted,
        totals=dict(_numbers(totals)),
        queue_depth=depth,
        num_waiting=num_open - min(num_running, num_open),
        num_running=min(num_running, num_open),
        reserved_tokens=counted.get("reserved_tokens", 0),
        oldest_waiting_s=float(oldest_waiting_s),
        oldest_running_s=float(oldest_running_s),
        dead_letters=dead_letters,
        redis_memory_bytes=memory,
        redis_max_memory_bytes=max_memory,
        redis_policy=policy.decode(),
        redis_refuses=refused.decode(errors="replace"),
        is_suspended=suspended == 1,
        foreign_workers=tuple(name.decode(errors="replace") for name in foreign),
    )


def _numbers(flat: list[bytes]) -> Iterable[tuple[str, float]]:
    return ((name.decode(errors="replace"), number(value)) for name, value in zip(flat[::2], flat[1::2], strict=True))


@lru_cache(_MOST_MOMENTS)
def _moment(raw: bytes) -> Moment | None:
    """None for a row that no script of ours wrote."""
    try:
        row = json.loads(raw)
        known = {name: row[name] for name in _MOMENT if name in row}  # a later version may write more
        # Redis' Lua writes an empty table as a list or an object: what was never counted is neither.
        iterations = dict(known.pop("iterations", None) or {})
        sums = [*known.values(), *iterations.values()]
        if all(isinstance(each, int | float) and isfinite(each) for each in sums):
            return Moment(**known, iterations=iterations)
        return None
    except (ValueError, TypeError, RecursionError):
        return None


def _facts(row: list[bytes]) -> WorkerFacts:
    name, *whole, tokens_per_s, role = row
    numbers = (int(number(each)) for each in whole)
    known = role.decode() if role in (b"prefill", b"decode") else "all"
    facts: tuple[Any, ...] = (name.decode(errors="replace"), *numbers, number(tokens_per_s), known)
    return WorkerFacts(*facts)


def _found_of(reply: list[Any]) -> Found | None:
    """Read FIND's reply: the request and what became of its jobs; None if it is unknown, or not known any more."""
    document, tokenizer, num_open, job_ids, states = reply
    content = _content_of(document)
    if not content or not tokenizer or not job_ids:
        return None
    is_forgotten = number(num_open) <= 0  # an answer that is gone was forgotten, nobody removed it
    if is_forgotten and any(state == b"gone" for state, _ in states):
        return None
    jobs = map(_found_job, job_ids, states)
    return Found(content, tokenizer.decode(errors="replace"), tuple(jobs))


def _content_of(document: bytes) -> dict[str, Any]:
    """Empty for what no API process of ours wrote."""
    try:
        content = json.loads(document or b"{}")
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _found_job(raw_id: bytes, about: list[bytes]) -> FoundJob:
    job_id, (state, payload) = raw_id.decode(errors="replace"), about
    return FoundJob(job_id, _PHASES.get(state) or outcome_of(job_id, state, payload) or admission.removed())
