"""`occupancy`: what each place of the batch does in each iteration, fixed against continuous batching.

The same requests for all, all waiting from the start, with the outputs that the model really gives them; the policies
that serve run on the virtual clock of `miniserve plan`, so the result is the same on every machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from ops.bench.experiment import Plan, Row
from ops.load import prompts
from ops.plan.clock import VirtualClock
from ops.plan.costs import WorkerCost
from ops.plan.mix import SentenceSize, mix_of
from ops.plan.worker import SimulatedWorker, WorkerModel, job_of
from ops.tables import table
from scheduler.batching import BatchLimits, ContinuousBatching, StepPlan
from scheduler.messages import MAX_OUTPUT_TOKENS
from scheduler.settings import Settings
from scheduler.static import StaticBatching

CSV = "occupancy.csv"
SLOTS = 16
_NUM_REQUESTS = 600
_DRAWN_ITERATIONS = 80
_LABELS = {
    "fixed length": f"fixed length: every member decodes {MAX_OUTPUT_TOKENS} tokens",
    "static": "static: the batch is fixed until its longest member ends",
    "continuous": "continuous: who ends makes room at once",
}


def policies(limits: BatchLimits) -> dict[str, ContinuousBatching]:
    return {
        "fixed length": StaticBatching(limits, limits.max_slots, 0.0, MAX_OUTPUT_TOKENS),
        "static": StaticBatching(limits, limits.max_slots, 0.0),
        "continuous": ContinuousBatching(limits),
    }


def measure(plan: Plan) -> list[Row]:
    """A row for every place in every iteration while requests still wait."""
    sizes, settings = mix_of(prompts.load(None, plan.seed)[:_NUM_REQUESTS]).sentences, Settings()
    limits = BatchLimits(settings.kv_budget_tokens, SLOTS, settings.max_iteration_tokens)
    return [
        {"policy": name, **row} for name, policy in policies(limits).items() for row in occupancy(policy, sizes)
    ]  # fmt: skip


def occupancy(policy: ContinuousBatching, sizes: Sequence[SentenceSize]) -> list[Row]:
    """What each place does in each iteration while requests wait: token, waste, idle."""
    rows: list[Row] = []
    iterations = count()

    def note(plan: StepPlan, seconds: float) -> None:
        if not policy.waiting and not plan.prefills:  # none waited
            return
        iteration, doing = next(iterations), {}
        for sequence in plan:
            is_wanted = len(sequence.output_ids) < sizes[int(sequence.request_id)].output
            doing[sequence.slot] = ("token" if is_wanted else "waste", int(sequence.request_id))
        for slot in range(policy.limits.max_slots):
            state, request_number = doing.get(slot, ("idle", ""))
            rows.append({"iteration": iteration, "slot": slot, "state": state, "number": request_number})

    clock, model = VirtualClock(), WorkerModel(WorkerCost(1.0, 0.0), 0.0, note=note)
    arriving = iter([[job_of(str(number), size, 0.0, None) for number, size in enumerate(sizes)]])
    SimulatedWorker(clock, policy, model, take=lambda _: next(arriving, []), finish=lambda _: None).wake()
    while clock.step():
        pass
    return rows


def shares(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Policy -> state -> share of the slot-steps."""
    found = {}
    for policy in dict.fromkeys(row["policy"] for row in rows):
        states = Counter(row["state"] for row in rows if row["policy"] == policy)
        found[policy] = {state: states[state] / states.total() for state in ("token", "waste", "idle")}
    return found


def num_iterations(rows: Sequence[Row], policy: str) -> int:
    """Until no request waited any more."""
    return 1 + int(max(row["iteration"] for row in rows if row["policy"] == policy))


def summary(rows: list[Row]) -> list[str]:
    cells = [
        (policy, num_iterations(rows, policy), f"{share['idle']:.1%}", f"{share['waste']:.1%}")
        for policy, share in shares(rows).items()
    ]
    return [
        f"{SLOTS} places, {_NUM_REQUESTS} requests, all waiting from the start",
        table(("policy", ">iterations", ">idle", ">wasted"), cells),
    ]


def draw(rows: list[Row], folder: Path) -> list[Path]:
    from ops.bench.occupancy_figure import draw_occupancy

    path = folder / "occupancy.png"
    draw_occupancy(path, rows, shares(rows), _LABELS, _DRAWN_ITERATIONS)
    return [path]
