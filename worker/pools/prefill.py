"""A prefill worker: reads prompts, offers what it has read, and keeps it until a decode worker has taken it over.

To the actor it is a worker like any: an offer is its news of a sequence (`progress`), and one that was taken over comes
back as one that was cancelled. What a first token ends is answered from here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any

from scheduler.messages import NO_CAPACITY, Completion, Delivery, FinishReason, FreeCapacity, Inbox, Progress
from scheduler.pools import OFFERED_WAIT_S, Handed, PrefillBatching
from worker.engine import Engine
from worker.pools.handoff import MovableDecoder, pack, weights_digest
from worker.queue.connection import script
from worker.queue.worker_end import WorkerMailbox

KEPT_MS = 10_000  # the bytes of an offer; a worker that takes it over later reads the prompt
AGAIN_S = 5.0  # after this an offer that nobody took over is made again: Redis may have lost it, or had no room
_PACKET_BYTES = 4 << 20  # Redis serves nobody else while it reads a command
_TAKEN = b":taken"  # behind an id in the inbox of its worker; no id has a colon


@dataclass(slots=True)
class Offer(Progress):
    """A sequence that was read here and may go on elsewhere."""

    handoff: bytes


class PrefillEngine(Engine):
    """Computes first tokens."""

    def __init__(self, engine: Engine, clock: Callable[[], float]) -> None:
        """With the model and the limits of `engine`, which is not used any more."""
        self._pool = PrefillBatching(engine.policy.limits)
        super().__init__(engine.model, self._pool, clock)
        self._movable = self._decoder = MovableDecoder(self.model.config, self.policy.limits.max_slots)
        self._digest = weights_digest(self.model.weights)
        self._offered: dict[str, Delivery] = {}

    def step(self) -> list[Completion]:
        if self._pool.can_admit:
            return super().step()
        late = [self.cancel(request_id, FinishReason.EXPIRED) for request_id in self._pool.late_ids(self._clock())]
        return [completion for completion in late if completion is not None]

    def progress(self) -> list[Progress]:
        """An offer of each sequence that has been read since the last call."""
        running, offered = self.policy.running, self._offered
        new = [one for name, one in running.items() if offered.get(name) is not one]
        self._offered = dict(running)
        return [Offer(one.request_id, tuple(one.output_ids), pack(self._read(one), self._digest)) for one in new]

    def cancel(self, request_id: str, reason: FinishReason = FinishReason.CANCELLED) -> Completion | None:
        """Of what was offered this is no end: most of it was taken over, and is counted there."""
        if reason is not FinishReason.CANCELLED or request_id not in self.policy.running:
            return super().cancel(request_id, reason)
        self._free(self.policy.running[request_id])
        self.policy.cancel(request_id)
        return Completion(request_id, reason)

    def _read(self, sequence: Delivery) -> Handed:
        rows = self._token_rows[sequence.slot, : len(sequence.request.prompt_ids)]
        times = sequence.queue_s, sequence.first_token_s - sequence.admitted_s
        kv, decoder = self.model.arena.layers[:, rows], self._movable.take(sequence.slot)
        return Handed(sequence.output_ids[-1], *times, kv, decoder)


class PrefillEnd(WorkerMailbox):
    """Makes offers, and hears what was taken over."""

    def __init__(self, *about: Any, **more: Any) -> None:
        super().__init__(*about, **more)
        self._offers: dict[str, bytes] = {}  # of what is held and was read
        self._to_offer: set[str] = set()
        self._came_back: set[str] = set()  # taken over, and given back to this worker, before it heard of either
        self._offered_s = 0.0

    def exchange(
        self,
        completions: Sequence[Completion],
        capacity: FreeCapacity,
        wait_s: float = 0.0,
        progress: Sequence[Progress] = (),
    ) -> Inbox:
        new = {offer.request_id: offer.handoff for offer in progress if isinstance(offer, Offer)}
        self._offers = {name: handoff for name, handoff in (self._offers | new).items() if name in self._held}
        self._to_offer |= new.keys()
        if time.monotonic() - self._offered_s > AGAIN_S:
            self._to_offer |= self._offers.keys()
            self._offered_s = time.monotonic()
        if self._offers and not new and not capacity.tokens:  # one that stops waits only for others to take over
            wait_s = max(wait_s, OFFERED_WAIT_S)
        if not self._heartbeat.num_decoders:  # nobody would go on: leave it to workers that do all of a request
            capacity = NO_CAPACITY
        return super().exchange(completions, capacity, wait_s)

    def _send(self, progress: Sequence[Progress] = ()) -> None:
        super()._send()
        offers = {name: handoff for name, handoff in self._offers.items() if name in self._to_offer}
        ends = accumulate(map(len, offers.values()))
        now = {name: offers[name] for name, end in zip(offers, ends, strict=True) if end <= _PACKET_BYTES}
        now = now or dict([*offers.items()][:1])
        if now:
            self._guarded(lambda: self._outgoing.send(script("offer", self.name, KEPT_MS, *chain(*now.items()))))
        self._to_offer = offers.keys() - now.keys()

    def _open_deliveries(self, raw_deliveries: list[Any]) -> tuple[Delivery, ...]:
        self._came_back = {row[0].decode() for row in raw_deliveries} & self._offers.keys()
        self._to_offer |= self._came_back  # what was read of it is still here
        return super()._open_deliveries(raw_deliveries)

    def _settle_cancelled(self, cancelled: list[bytes]) -> tuple[str, ...]:
        """What was taken over is over here, as what was cancelled; but its answer will come from elsewhere."""
        names = [raw.removesuffix(_TAKEN).decode() for raw in cancelled if raw.endswith(_TAKEN)]
        taken = tuple(name for name in names if name in self._held and name not in self._came_back)
        for name in taken:
            self._offers.pop(name, None)
            del self._held[name]
        self._disowned.update(taken)
        return taken + super()._settle_cancelled([raw for raw in cancelled if not raw.endswith(_TAKEN)])

    def _fail(self) -> None:
        super()._fail()
        self._to_offer |= self._offers.keys()


def prepare(engine: Engine) -> tuple[Engine, type[WorkerMailbox]]:
    """For `worker.process.serve`."""
    return PrefillEngine(engine, time.monotonic), PrefillEnd
