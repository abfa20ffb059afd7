"""What a worker reports of itself with every beat: what it counted, how full it is, how much it can finish.

Called from the heartbeat's thread.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict

from scheduler.capacity.fleet import shape_of
from worker.engine import Engine
from worker.queue.protocol import WorkerReport

_EVERY_S = 1.0
_ROWS = 60  # the service rate is that of the last minute


class WorkerStatus:
    """The status of one worker."""

    def __init__(self, engine: Engine, clock: Callable[[], float]) -> None:
        self._policy = engine.policy
        self._observations = engine.observations
        self._clock = clock
        self._name = f"{socket.gethostname()}-{os.getpid()} {engine.policy.limits.role}".removesuffix(" all")
        self._sums: deque[tuple[float, Mapping[str, float]]] = deque(maxlen=_ROWS + 1)  # time, sums by then
        self._tokens_per_s = self._service_rate = 0.0

    def report(self) -> WorkerReport:
        """The totals and gauges of now."""
        policy, limits = self._policy, self._policy.limits
        self._look(self._clock())
        gauges = {
            "num_running": len(policy.running),
            "num_waiting": len(policy.waiting),
            "kv_reserved_tokens": policy.reserved_tokens,
            "kv_budget_tokens": limits.kv_budget_tokens,
            "max_slots": limits.max_slots,
            "max_prefill_rows": limits.max_prefill_rows,
            "computed_tokens_per_s": round(self._tokens_per_s, 1),
        }
        return WorkerReport(self._observations.totals(), gauges, self._service_rate, self._live, limits.role)

    def _live(self, is_watched: bool) -> str:
        if not is_watched:
            self._observations.live = None
        elif self._observations.live is None:
            from worker.live import LiveLog  # seldom needed

            self._observations.live = LiveLog()
        else:
            return self._observations.live.take(self._name, self._policy.limits.max_slots)
        return ""

    def _look(self, now: float) -> None:
        """Once a second, note the sums, and what they grew by.

        The service rate is in reserved tokens per second with a full batch, by the same fit that the capacity figures
        come from (docs/capacity.md); 0 while too little is known.
        """
        if self._sums and now - self._sums[-1][0] < _EVERY_S:
            return
        sums = asdict(self._observations.sums)
        sums["tokens"] = sums["p"] + self._observations.generated_tokens
        if self._sums:
            then, before = self._sums[-1]
            self._tokens_per_s = (sums["tokens"] - before["tokens"]) / (now - then)
        self._sums.append((now, sums))
        before, limits = self._sums[0][1], self._policy.limits
        shape = shape_of({name: value - before[name] for name, value in sums.items()})
        rate = shape.completions_per_s(shape.room(limits), limits.role) * shape.reserved_tokens
        self._service_rate = rate or self._service_rate  # an idle minute shows nothing: what was known holds
