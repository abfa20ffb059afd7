"""What the worker says of itself with every beat: what it counted, and how full it is. For the heartbeat."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from scheduler.batching import BatchingPolicy
from worker.mailbox.protocol import WorkerReport
from worker.status_line import StatusLine

_WINDOW_REPORTS = 4  # a second's worth


class Vitals:
    """Of one worker."""

    def __init__(self, policy: BatchingPolicy, clock: Callable[[], float]) -> None:
        self._policy = policy
        self._clock = clock
        self._status_line = StatusLine(policy, clock())
        self._computed: deque[tuple[float, int]] = deque(maxlen=_WINDOW_REPORTS + 1)  # time, tokens by then

    def report(self) -> WorkerReport:
        policy, now = self._policy, self._clock()
        self._status_line.look(now)
        gauges = {
            "num_running": policy.num_running,
            "num_waiting": policy.num_waiting,
            "kv_reserved_tokens": policy.reserved_tokens,
            "kv_budget_tokens": policy.limits.kv_budget_tokens,
            "max_slots": policy.limits.max_slots,
            "computed_tokens_per_s": round(self._tokens_per_s(now), 1),
        }
        return WorkerReport(policy.observations.totals(), gauges)

    def _tokens_per_s(self, now: float) -> float:
        counters = self._policy.counters
        self._computed.append((now, counters.prompt_tokens + counters.generated_tokens))
        then, tokens = self._computed[0]
        return (self._computed[-1][1] - tokens) / (now - then) if now > then else 0.0
