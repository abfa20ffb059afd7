"""What a worker does, iteration by iteration, for those who watch it: only while somebody looks.

The loop's thread notes, the heartbeat's thread takes and sends. Requests have numbers here: who knows the id of one may
fetch its answer.
"""

from __future__ import annotations

import json
import time
from collections import deque
from typing import Any

from scheduler.batching import StepPlan
from scheduler.messages import Delivery

MAX_SLOTS = 64  # that are drawn
_MOST_ITERATIONS = 1000  # between two beats


class LiveLog:
    """The iterations since the last beat."""

    def __init__(self) -> None:
        self._iterations: deque[list[Any]] = deque(maxlen=_MOST_ITERATIONS)
        self._numbers: dict[str, int] = {}  # of the requests that run
        self._num_seen = 0
        self._joined: tuple[Delivery, ...] = ()

    def note_joined(self, joined: tuple[Delivery, ...]) -> None:
        """Of those who decode next these begin here: another worker has read their prompts."""
        self._joined = joined

    def note(self, plan: StepPlan, running: dict[str, Any], seconds: float) -> None:
        """An iteration of so many seconds has ended; `running` are those that go on."""
        began = [
            [one.slot, self._number(one.request_id), len(one.request.prompt_ids), round(one.queue_s * 1e3)]
            for one in plan.prefills + self._joined
            if one.slot < MAX_SLOTS
        ]
        joined_ids = {one.request_id for one in self._joined}
        decoding = [
            value
            for one in plan.decodes
            if one.slot < MAX_SLOTS and one.request_id not in joined_ids
            for value in (one.slot, self._number(one.request_id))
        ]
        self._joined = ()
        ended = [
            value
            for one in plan
            if one.request_id not in running and one.slot < MAX_SLOTS
            for value in (one.slot, self._number(one.request_id), len(one.output_ids))
        ]
        self._iterations.append([round(seconds * 1e3, 2), began, decoding, ended])
        if len(self._numbers) > len(running):  # also those that were cancelled
            self._numbers = {name: number for name, number in self._numbers.items() if name in running}

    def take(self, worker: str, num_slots: int, num_waiting: int) -> str:
        """All that was noted since the last call, as JSON."""
        iterations = [self._iterations.popleft() for _ in range(len(self._iterations))]
        document = {
            "worker": worker, "at_ms": round(time.time() * 1e3), "slots": num_slots,
            "waiting": num_waiting, "iterations": iterations,
        }  # fmt: skip
        return json.dumps(document, separators=(",", ":"))

    def _number(self, request_id: str) -> int:
        number = self._numbers.get(request_id)
        if number is None:
            number = self._numbers[request_id] = self._num_seen
            self._num_seen += 1
        return number
