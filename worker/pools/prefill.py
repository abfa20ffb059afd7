"""A prefill worker: reads prompts, and puts each into the queue of the decode workers.

To the actor it is a worker like any: what it has read is its news of a sequence (`progress`). What a first token ends
is answered from here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from time import monotonic
from typing import Any

from scheduler.batching import ContinuousBatching
from scheduler.messages import NO_CAPACITY, Completion, Delivery, FreeCapacity, Inbox, Progress
from scheduler.pools import Handed
from worker.engine import Engine
from worker.pools.handoff import pack, weights_digest
from worker.queue.connection import script
from worker.queue.worker_end import WorkerMailbox

KEPT_MS = 10_000  # the bytes of a prompt; a worker that takes it later reads it
MOST_READ = 64  # prompts that wait for decode workers: while there are so many no other is read
_AT_ONCE = 32  # prompts of a command: Redis serves nobody else while it reads one


@dataclass(slots=True)
class ReadPrompt(Progress):
    """A sequence that was read here and goes on elsewhere."""

    handoff: bytes


class PrefillEngine(Engine):
    """Computes first tokens."""

    def __init__(self, engine: Engine, clock: Callable[[], float]) -> None:
        """With the model and the limits of `engine`, which is not used any more."""
        super().__init__(engine.model, ContinuousBatching(replace(engine.policy.limits, role="prefill")), clock)
        self._digest = weights_digest(self.model.weights)

    def progress(self) -> list[Progress]:
        """What was read of each sequence that runs; none of them runs here any more."""
        return [self._give_away(sequence) for sequence in [*self.policy.running.values()]]

    def _give_away(self, sequence: Delivery) -> ReadPrompt:
        rows = self._token_rows[sequence.slot, : len(sequence.request.prompt_ids)]
        times = sequence.queue_s, sequence.first_token_s - sequence.admitted_s
        kv, decoder = self.model.arena.layers[:, rows], self._decoder.memory[sequence.slot].tolist()
        handoff = pack(Handed(sequence.output_ids[-1], *times, kv, decoder), self._digest)
        self._free(sequence)
        self.policy.cancel(sequence.request_id)
        return ReadPrompt(sequence.request_id, tuple(sequence.output_ids), handoff)


class PrefillEnd(WorkerMailbox):
    """Sends what was read together with the answers."""

    def __init__(self, *about: Any, **more: Any) -> None:
        super().__init__(*about, **more)
        self._read: list[tuple[str, bytes]] = []  # to be sent
        self._num_read = 0  # that wait for decode workers, as of the last reply

    def exchange(
        self,
        completions: Sequence[Completion],
        capacity: FreeCapacity,
        wait_s: float = 0.0,
        progress: Sequence[Progress] = (),
    ) -> Inbox:
        # Not held any more, whatever comes: what Redis does not learn of, RESYNC puts back into the queue.
        for one in progress:
            if isinstance(one, ReadPrompt) and one.request_id in self._held:
                del self._held[one.request_id]
                self._read.append((one.request_id, one.handoff))
        if not self._heartbeat.num_decoders or self._num_read >= MOST_READ:
            capacity = NO_CAPACITY  # without decode workers leave it to those that do all of a request
        return super().exchange(completions, capacity, wait_s)

    def _send(self, progress: Sequence[Progress] = ()) -> None:
        super()._send()
        read, self._read = self._read, []
        if read or self._num_read >= MOST_READ:  # or ask how many there are
            parts = [read[at : at + _AT_ONCE] for at in range(0, len(read), _AT_ONCE)] or [[]]
            commands = [script("hand_over", self.name, KEPT_MS, *chain.from_iterable(part)) for part in parts]
            self._guarded(lambda: self._outgoing.send(*commands))

    def _confirm(self) -> list[Any]:
        replies = super()._confirm()
        for reply in replies:
            self._num_read = self._checked(reply)
        return replies


def prepare(engine: Engine) -> tuple[Engine, type[WorkerMailbox]]:
    """For `worker.process.serve`."""
    return PrefillEngine(engine, monotonic), PrefillEnd
