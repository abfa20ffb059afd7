"""What the workers can do: what a request is like, what an iteration costs, how many end in a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scheduler.batching import BatchLimits
from scheduler.capacity.observed import WorkerFacts
from scheduler.observations import DECODE_WORK

_LEAST_SPREAD = 1e-6  # of E[work^2]: work that hardly varied tells no cost of its own


@dataclass(frozen=True, slots=True)
class Shape:
    """A request, on average, and the cost of an iteration. All 0 where nothing is known."""

    prompt_tokens: float = 0.0  # P
    output_tokens: float = 0.0  # D: the iterations it takes part in, for the one that reads its prompt writes one, too
    reserved_tokens: float = 0.0
    fixed_s: float = 0.0  # of an iteration
    unit_s: float = 0.0  # for each prompt token, and twice for each decode step: see DECODE_WORK

    @property
    def computed_tokens(self) -> float:
        return self.prompt_tokens + self.output_tokens

    def completions_per_s(self, running: float, role: str = "all") -> float:
        """mu(n) of one worker: each of n who run is in D iterations, reads its prompt in one and decodes in the others.

        In two pools n prompts are read in one iteration, or n requests are in D - 1 each.
        """
        turns, decodes = self.output_tokens, max(0.0, self.output_tokens - 1)
        work = self.prompt_tokens + DECODE_WORK * decodes
        if role == "prefill":
            turns, work = 1.0, self.prompt_tokens
        elif role == "decode":
            turns = max(1.0, decodes)
            work = DECODE_WORK * turns
        if turns <= 0:
            return 0.0
        iteration_s = self.fixed_s + self.unit_s * running * work / turns
        return running / (turns * iteration_s) if iteration_s > 0 else 0.0

    def room(self, worker: WorkerFacts | BatchLimits) -> int:
        """k: how many such requests the worker runs at once."""
        if self.reserved_tokens <= 0:
            return max(1, worker.max_slots)
        room = min(worker.max_slots, worker.kv_budget_tokens / self.reserved_tokens)
        if worker.role == "all" and worker.max_prefill_rows > 0:
            # D at least, because one prompt is always read. Each of them has P + D - 1 rows in D iterations.
            rows_of_each = (self.computed_tokens - 1) / self.output_tokens
            room = min(room, max(self.output_tokens, worker.max_prefill_rows / rows_of_each))
        return max(1, int(room))


def shape_of(sums: Mapping[str, float]) -> Shape:
    """The mean request and the cost of an iteration, from sums named as those of IterationSums."""
    requests = sums.get("requests", 0.0)
    if requests < 1:
        return Shape()
    fixed_s, unit_s = _cost(*(max(0.0, sums.get(name, 0.0)) for name in ("n", "t", "work", "work2", "work_t")))
    return Shape(
        prompt_tokens=sums.get("prompts", 0.0) / requests,
        output_tokens=max(1.0, sums.get("outputs", 0.0) / requests),
        reserved_tokens=sums.get("reserved", 0.0) / requests,
        fixed_s=fixed_s,
        unit_s=unit_s,
    )


def _cost(n: float, t: float, work: float, work2: float, work_t: float) -> tuple[float, float]:
    """Least squares of t = fixed + unit * work; neither is negative."""
    if n < 1:
        return 0.0, 0.0
    spread = work2 - work * work / n
    unit_s = max(0.0, (work_t - work * t / n) / spread) if spread > _LEAST_SPREAD * work2 else 0.0
    if unit_s * work > t:
        return 0.0, work_t / work2
    return (t - unit_s * work) / n, unit_s


@dataclass(frozen=True, slots=True)
class Fleet:
    """The live workers."""

    shape: Shape
    workers: Sequence[WorkerFacts]

    @property
    def room(self) -> int:
        """Requests that run at once, all workers together."""
        return sum(map(self.shape.room, self.workers))

    @property
    def requests_per_s(self) -> float:
        """Return the rate with full batches. Of two pools the slower one counts."""
        rates = self.rates()
        return rates.get("all", 0.0) + min(rates.get("prefill", 0.0), rates.get("decode", 0.0))

    @property
    def can_serve(self) -> bool:
        """One pool without the other serves nobody."""
        roles = {worker.role for worker in self.workers}
        return "all" in roles or len(roles) > 1

    def rates(self) -> dict[str, float]:
        """Return the rates with full batches, in requests/s, by role."""
        found: dict[str, float] = {}
        for worker in self.workers:
            rate = self.shape.completions_per_s(self.shape.room(worker), worker.role)
            found[worker.role] = found.get(worker.role, 0.0) + rate
        return found
