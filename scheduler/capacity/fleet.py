"""The workers as queueing theory sees them: what a request is like, how many run at once, how many end in a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scheduler.batching import BatchLimits
from scheduler.capacity.iteration_cost import IterationCost, fit_cost
from scheduler.capacity.observed import WorkerFacts
from scheduler.capacity.queueing import squared_variation


@dataclass(frozen=True, slots=True)
class Shape:
    """What a request is like, on average, and what an iteration costs; all 0 where nothing is known."""

    prompt_tokens: float = 0.0  # P
    output_tokens: float = 0.0  # D: the iterations it takes part in, for the one that reads its prompt writes one, too
    reserved_tokens: float = 0.0
    output_c2: float = 0.0  # squared coefficient of variation of D
    cost: IterationCost = IterationCost()

    @property
    def computed_tokens(self) -> float:
        return self.prompt_tokens + self.output_tokens

    def iteration_s(self, running: float) -> float:
        """Each running request reads its prompt in one iteration out of D, and decodes in the others."""
        turns = running / max(1.0, self.output_tokens)
        return self.cost.seconds(turns * self.prompt_tokens, turns * max(0.0, self.output_tokens - 1))

    def completions_per_s(self, running: float, role: str = "all") -> float:
        """mu(n) of one worker: of n who run one in D ends with each iteration.

        In two pools n prompts are read in one iteration, or one in D - 1 of those who decode ends with each.
        """
        turns, iteration_s = self.output_tokens, self.iteration_s(running)
        if role == "prefill":
            turns, iteration_s = 1.0, self.cost.seconds(running * self.prompt_tokens, 0)
        elif role == "decode":
            turns, iteration_s = max(1.0, self.output_tokens - 1), self.cost.seconds(0, running)
        return running / (turns * iteration_s) if self.output_tokens > 0 and iteration_s > 0 else 0.0

    def room(self, worker: WorkerFacts | BatchLimits) -> int:
        """k: how many such requests the worker runs at once."""
        if self.reserved_tokens <= 0:
            return max(1, worker.max_slots)
        room = min(worker.max_slots, worker.kv_budget_tokens / self.reserved_tokens)
        if worker.role == "all" and worker.max_prefill_rows > 0:
            # D at least, because one prompt is always read. Each of them has P + D - 1 rows in D iterations.
            rows_of_each = (self.prompt_tokens + self.output_tokens - 1) / self.output_tokens
            room = min(room, max(self.output_tokens, worker.max_prefill_rows / rows_of_each))
        return max(1, int(room))


def shape_of(iterations: Mapping[str, float]) -> Shape:
    """Of the requests that came to their end among these sums."""
    requests = iterations.get("requests", 0.0)
    if requests < 1:
        return Shape()
    outputs = max(1.0, iterations.get("outputs", 0.0) / requests)
    return Shape(
        prompt_tokens=iterations.get("prompts", 0.0) / requests,
        output_tokens=outputs,
        reserved_tokens=iterations.get("reserved", 0.0) / requests,
        output_c2=squared_variation(outputs, iterations.get("outputs2", 0.0) / requests),
        cost=fit_cost(iterations),
    )


@dataclass(frozen=True, slots=True)
class Fleet:
    """The live workers."""

    shape: Shape
    rooms: tuple[int, ...]  # of each worker
    roles: tuple[str, ...] = ()  # of each worker; none: each does all of a request

    @classmethod
    def of(cls, shape: Shape, workers: Sequence[WorkerFacts]) -> Fleet:
        return cls(shape, tuple(map(shape.room, workers)), tuple(worker.role for worker in workers))

    @property
    def num_workers(self) -> int:
        return len(self.rooms)

    @property
    def room(self) -> int:
        """Requests that run at once, all workers together."""
        return sum(self.rooms)

    @property
    def requests_per_s(self) -> float:
        """Return the rate with full batches. Of two pools the slower one counts."""
        rates = self.rates()
        return rates.get("all", 0.0) + min(rates.get("prefill", 0.0), rates.get("decode", 0.0))

    @property
    def can_serve(self) -> bool:
        """One pool without the other serves nobody."""
        roles = {*self.roles} or {"all"}
        return bool(self.rooms) and ("all" in roles or len(roles) > 1)

    def rates(self) -> dict[str, float]:
        """Return the rates with full batches, in requests/s, by role."""
        found: dict[str, float] = {}
        for room, role in zip(self.rooms, self.roles or ("all",) * len(self.rooms), strict=True):
            found[role] = found.get(role, 0.0) + self.shape.completions_per_s(room, role)
        return found

    def of_size(self, num_workers: int) -> Fleet:
        """So many workers, each with the mean room of these."""
        return Fleet(self.shape, (round(self.room / self.num_workers),) * num_workers)

    def completions_per_s(self, running: float) -> float:
        """mu_m(n) = m mu(n / m): those who run are spread evenly."""
        return self.num_workers * self.shape.completions_per_s(running / self.num_workers)
