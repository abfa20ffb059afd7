"""What a worker does, iteration by iteration, for those who watch it: only while somebody looks.

The loop's thread notes, the heartbeat's thread takes and sends. Slots and counts, and no id: the id of a request is the
right to fetch its answer.
"""

from __future__ import annotations

import json
from collections import deque

from scheduler.batching import ContinuousBatching, StepPlan

_MOST_ITERATIONS = 1000  # between two beats


class LiveLog:
    """The iterations since the last beat."""

    def __init__(self) -> None:
        self._iterations: deque[tuple[int, list[int], list[int], list[int]]] = deque(maxlen=_MOST_ITERATIONS)

    def note(self, plan: StepPlan, policy: ContinuousBatching) -> None:
        """Note an iteration that has ended.

        How many requests waited through it; the slots whose prompts were read; those that decoded; those that ended.
        """
        began, decoded = ([one.slot for one in some] for some in (plan.prefills, plan.decodes))
        ended = [one.slot for one in plan if one.request_id not in policy.running]
        self._iterations.append((len(policy.waiting), began, decoded, ended))

    def take(self, worker: str, num_slots: int) -> str:
        """Return all that was noted since the last call, as JSON."""
        iterations = [self._iterations.popleft() for _ in range(len(self._iterations))]
        return json.dumps({"worker": worker, "slots": num_slots, "iterations": iterations}, separators=(",", ":"))
