"""One line of the log every ten seconds in which the worker worked; an idle one is silent.

Called at every beat, from the heartbeat's thread. The line is written by a thread of its own: a log that nobody reads
may hang, and the heart must beat on.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from threading import Thread
from typing import Any

import structlog

from scheduler.batching import BatchingPolicy

EVERY_S = 10.0
logger = structlog.get_logger(__name__)


class StatusLine:
    """Of one worker."""

    def __init__(
        self, policy: BatchingPolicy, now: float, tell: Callable[[dict[str, Any]], None] | None = None
    ) -> None:
        self._policy = policy
        self._tell = tell or _Speaker().tell
        self._begun_s = now
        self._counted = self._counts()

    def look(self, now: float) -> None:
        """Say how it goes, if it is time to and there is something to say."""
        seconds = now - self._begun_s
        if seconds < EVERY_S:
            return
        before, self._counted, self._begun_s = self._counted, self._counts(), now
        iterations, sequences, tokens, answers = (b - a for a, b in zip(before, self._counted, strict=True))
        if not iterations:
            return
        policy = self._policy
        self._tell({
            "running": policy.num_running,
            "waiting": policy.num_waiting,
            "tokens_per_s": round(tokens / seconds),
            "kv_percent": round(100 * policy.reserved_tokens / policy.limits.kv_budget_tokens),
            "answers": answers,
            "mean_batch": round(sequences / iterations, 1),
        })  # fmt: skip

    def _counts(self) -> tuple[int, int, int, int]:
        observations = self._policy.observations
        counters = observations.counters
        computed = counters.prompt_tokens + counters.generated_tokens
        return counters.iterations, counters.generated_tokens, computed, observations.sums.requests


class _Speaker:
    """Says one thing after the other; what comes while it still speaks is not said."""

    def __init__(self) -> None:
        self._context = copy_context()  # in which the log knows the process
        self._thread: Thread | None = None

    def tell(self, facts: dict[str, Any]) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=self._context.run, args=(lambda: logger.info("status", **facts),), daemon=True)
            with suppress(RuntimeError):  # no thread can be had: a line is not worth a beat
                self._thread.start()
