"""What is known of the whole system at one moment: plain values, read from the queue by one script.

Counters are of all time, so that a rate is the difference of two moments; `history` holds earlier ones, a second apart.
Nothing here reads a clock: all times are of the queue's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Moment:
    """The numbers that grow, at one time."""

    at_s: float
    area_s: float = 0.0  # integral over time of the number of accepted, unfinished requests
    stay_s: float = 0.0  # sum over all that ended of the time from their acceptance
    accepted: int = 0
    ended: int = 0  # done, failed, cancelled, expired or removed
    iterations: Mapping[str, float] = field(default_factory=dict)  # see scheduler.observations.IterationSums
    done: int = 0  # of those that ended: answered
    failed: int = 0  # and those whose client got a 5xx: failed or expired
    refused: int = 0  # sentences, for the queue was full or the answer would have been late: offered, too
    replies: int = 0  # HTTP answers to corrections with 2xx
    errors: int = 0  # and with 5xx, refusals included
    loop_ticks: int = 0  # of the event loops of the API: each is due a tenth of a second after the one before
    loop_late_s: float = 0.0  # by how much they were late, summed


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """One live worker, as of its last beat."""

    name: str
    num_running: int = 0
    num_waiting: int = 0  # held, and not admitted yet
    reserved_tokens: int = 0  # of the running ones
    kv_budget_tokens: int = 0
    max_slots: int = 0
    max_prefill_rows: int = 0  # of an iteration that reads prompts while others decode; 0: not known
    tokens_per_s: float = 0.0  # computed in the last second
    role: str = "all"  # or "prefill", "decode": the part that it does of each request


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that /metrics reports."""

    now: Moment
    history: tuple[Moment, ...] = ()  # oldest first
    workers: tuple[WorkerFacts, ...] = ()  # whose loop has turned lately
    num_api_replicas: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)  # how requests ended and why they were refused
    totals: Mapping[str, float] = field(default_factory=dict)  # what the processes counted, by field
    queue_depth: int = 0  # waiting, those given to workers excluded
    num_waiting: int = 0  # also those that workers hold and have not admitted
    num_running: int = 0
    reserved_tokens: int = 0
    oldest_waiting_s: float = 0.0
    oldest_running_s: float = 0.0
    dead_letters: int = 0
    redis_memory_bytes: int = 0
    redis_max_memory_bytes: int = 0  # 0: no limit
    redis_policy: str = "noeviction"  # what it does when it is full
    redis_refuses: str = ""  # its words where it takes no write
    is_suspended: bool = False  # with `rq suspend`: workers take nothing
    foreign_workers: tuple[str, ...] = ()  # RQ's own, which fail each request that they take
