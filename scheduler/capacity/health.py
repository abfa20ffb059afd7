"""Whether the system answers, and what stands in its way: figures of the last seconds.

Alerts, GET /metrics, `miniserve capacity` and `miniserve top` all read them here. A pure function of what was observed;
each figure is 0 where all is well or nothing is known.
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.capacity.observed import Observed
from scheduler.capacity.window import Window, last_seconds, rising
from scheduler.messages import MAX_TOTAL_TOKENS

FAILING_WINDOW_S = 10.0
MIN_ANSWERS = 10  # within that window; of fewer one failure is a large share
IDLE_WINDOW_S = 3.0  # without an answer although workers run something: the longest sequences take less
LATE_WINDOW_S = 5.0
EVICTS_NOTHING = "noeviction"


@dataclass(frozen=True, slots=True)
class Health:
    """What is wrong now."""

    failing_share: float = 0.0  # of the answers of the window: 5xx, or a sentence that ended without one
    stuck_s: float = 0.0  # how long the first sentence has waited while live workers answer none
    queue_time_s: float = 0.0  # mean of those that ended in the window
    leaked_tokens: int = 0  # reserved in KV caches beyond what the running sequences can hold
    api_late_s: float = 0.0  # mean time that an event waits for its turn in an API process
    redis_evicts: bool = False  # it would delete requests when it is full
    redis_refuses_writes: bool = False  # mostly because it cannot save to its disk
    foreign_workers: int = 0  # RQ's own, which fail each request that they take


def health_of(observed: Observed) -> Health:
    """All figures, from one look at the system."""
    moments = rising(observed.history, observed.now)
    recent, latest, idle = (last_seconds(moments, s) for s in (FAILING_WINDOW_S, LATE_WINDOW_S, IDLE_WINDOW_S))
    return Health(
        failing_share=max(share_of(recent.failed, recent.done), share_of(recent.errors, recent.replies)),
        stuck_s=_stuck_s(observed, idle),
        queue_time_s=_queue_time_s(recent),
        leaked_tokens=_leaked_tokens(observed),
        api_late_s=latest.loop_late_s / latest.loop_ticks if latest.loop_ticks > 0 else 0.0,
        redis_evicts=observed.redis_max_memory_bytes > 0 and observed.redis_policy not in ("", EVICTS_NOTHING),
        redis_refuses_writes=bool(observed.redis_refuses),
        foreign_workers=len(observed.foreign_workers),
    )


def share_of(bad: int, good: int) -> float:
    """Return the share; 0 if there are few."""
    return bad / (bad + good) if bad > 0 and bad + good >= MIN_ANSWERS else 0.0


def _stuck_s(observed: Observed, window: Window) -> float:
    """Return 0 without a live worker: that is an outage of its own."""
    if not observed.workers or not observed.num_waiting or observed.is_suspended:
        return 0.0
    answers_nothing = window.seconds >= IDLE_WINDOW_S - 1 and not window.done
    is_stuck = not observed.num_running or answers_nothing
    return max(observed.oldest_waiting_s, observed.oldest_running_s) if is_stuck else 0.0


def _queue_time_s(window: Window) -> float:
    num_requests = window.iterations.get("requests", 0.0)
    return max(0.0, window.iterations.get("queue_s", 0.0) / num_requests) if num_requests > 0 else 0.0


def _leaked_tokens(observed: Observed) -> int:
    most = (worker.reserved_tokens - MAX_TOTAL_TOKENS * worker.num_running for worker in observed.workers)
    return sum(max(0, tokens) for tokens in most)
