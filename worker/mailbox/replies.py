"""What Redis replies to the questions of the API's end and of those who watch, read into plain values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import partial
from itertools import takewhile
from math import isfinite
from typing import Any, TypeVar

from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.errors import RequestFailed, ServingError
from scheduler.messages import Completion, FinishReason, Phase, WireError
from scheduler.traces import FoundTrace, RequestPart, SequencePart, TracedJob, TraceError
from worker.mailbox import admission, formats
from worker.mailbox.protocol import Found, FoundJob, MailboxStatus

T = TypeVar("T")
_MOMENT = tuple(spec.name for spec in fields(Moment))
_PHASES = {b"queued": Phase.QUEUED, b"started": Phase.RUNNING}
_ENDS = {b"canceled": FinishReason.CANCELLED, b"expired": FinishReason.EXPIRED}


def status_of(reply: list[Any]) -> MailboxStatus:
    """Of STATUS' reply."""
    *numbers, rate, invariance = reply[:8]
    status: tuple[Any, ...] = (True, *numbers, number(rate), invariance.decode())
    return MailboxStatus(*status)


def observed_of(reply: list[Any]) -> Observed:
    """Of OBSERVE's reply."""
    moments, counts, totals, workers, num_apis, depth, num_open, num_running = reply[:8]
    oldest_waiting_s, oldest_running_s, dead_letters, memory, max_memory, kept, policy = reply[8:]
    counted = {name: int(value) for name, value in _numbers(counts)}
    return Observed(
        now=_moment(moments[-1]) or Moment(0.0),
        history=tuple(filter(None, map(_moment, _comparable(moments[:-1])))),
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
        redis_kept_bytes=kept,
        redis_policy=policy.decode(),
    )


def number(text: bytes | None) -> float:
    """Return 0 for what is no number: somebody else wrote it."""
    try:
        value = float(text or 0)
    except ValueError:
        return 0.0
    return value if isfinite(value) else 0.0


def _numbers(flat: list[bytes]) -> Iterable[tuple[str, float]]:
    return ((name.decode(errors="replace"), number(value)) for name, value in zip(flat[::2], flat[1::2], strict=True))


def _comparable(rows: list[bytes]) -> list[bytes]:
    """The latest rows that count answers and failures: replicas up to 0.7, beside us or before, write others."""
    latest = takewhile(lambda row: b'"done"' in row, reversed(rows))
    return list(latest)[::-1]


def _moment(raw: bytes) -> Moment | None:
    """None for a row that no script of ours wrote."""
    try:
        row = json.loads(raw)
        known = {name: row[name] for name in _MOMENT if name in row}  # a later version, beside us, may tell more
        # Redis' Lua writes an empty table as a list or an object: what was never counted is neither.
        known["iterations"] = dict(known.get("iterations") or {})
        sums = [*known["iterations"].values(), *(value for name, value in known.items() if name != "iterations")]
        return Moment(**known) if all(isinstance(each, int | float) and isfinite(each) for each in sums) else None
    except (ValueError, TypeError, RecursionError):
        return None


def _facts(row: list[bytes]) -> WorkerFacts:
    name, *whole, tokens_per_s = row
    numbers = (int(number(each)) for each in whole)
    facts: tuple[Any, ...] = (name.decode(errors="replace"), *numbers, number(tokens_per_s))
    return WorkerFacts(*facts)


def job_ids_of(request_id: str, reply: list[Any]) -> list[str]:
    """The jobs of the request that FIND was asked for, even where only its trace is kept."""
    *_, trace, job_ids, _ = reply
    if job_ids:
        return [job_id.decode(errors="replace") for job_id in job_ids]
    part = _part(partial(RequestPart.from_text, request_id), trace)
    return [] if part is None else list(part.job_ids)


def found_of(reply: list[Any], job_ids: list[str]) -> Found | None:
    """The request and what became of its jobs; None where it is not known, or not any more."""
    document, tokenizer, num_open, _, _, states = reply
    if not document or not tokenizer:
        return None
    is_forgotten = number(num_open) <= 0  # an answer that is gone was forgotten, nobody removed it
    if is_forgotten and any(state == b"gone" for state, _, _ in states):
        return None
    jobs = [_found_job(job_id, state, payload) for job_id, (state, payload, _) in zip(job_ids, states, strict=True)]
    return Found(document.decode(errors="replace"), tokenizer.decode(errors="replace"), tuple(jobs))


def trace_of(request_id: str, reply: list[Any], job_ids: list[str], states: list[Any]) -> FoundTrace | None:
    """What is kept of its trace; None where nothing is known of it."""
    jobs = [
        TracedJob(job_id, _part(SequencePart.from_text, text), _PHASES.get(state) or _ENDS.get(state))
        for job_id, (state, _, text) in zip(job_ids, states, strict=True)
    ]
    part = _part(partial(RequestPart.from_text, request_id), reply[3])
    return FoundTrace(part, tuple(jobs)) if jobs else None


def _found_job(job_id: str, state: bytes, payload: bytes) -> FoundJob:
    return FoundJob(job_id, _PHASES.get(state) or outcome_of(job_id, state, payload) or admission.removed())


def outcome_of(job_id: str, state: bytes, payload: bytes) -> Completion | ServingError | None:
    """None where there is none yet, or none any more."""
    if state == b"done":
        try:
            news = formats.decode_news(payload)
        except WireError as error:
            return RequestFailed(f"the answer cannot be read: {error}")
        return news if isinstance(news, Completion) else RequestFailed("the answer is not complete")
    return Completion(job_id, _ENDS[state]) if state in _ENDS else None


def _part(read: Callable[[str], T], text: bytes | None) -> T | None:
    """A part of a trace; None where there is none, or one of another version."""
    try:
        return read(text.decode()) if text else None
    except (TraceError, UnicodeDecodeError):
        return None
