"""`engine`: what the engine alone can do with real sentences. No HTTP, no queue, requests always waiting.

Rounds repeat the same iterations, and each iteration counts with the least CPU time that it took: what the machine
does besides disturbs single iterations.
"""

from __future__ import annotations

import time
from itertools import chain
from pathlib import Path

from tqdm import tqdm

from ops.bench.experiment import Plan, Row, medians_table
from ops.load import prompts
from ops.plan.mix import requests_of
from scheduler.messages import Completion, CorrectionRequest, Delivery
from scheduler.settings import Settings
from worker.engine import Engine, new_engine
from worker.model.weights import load_weights

CSV = "engine.csv"
SLOTS = (1, 8, 32, 64)
_NUM_REQUESTS = 1000


def measure(plan: Plan) -> list[Row]:
    number = max(1, round(_NUM_REQUESTS * plan.scale))
    sentences = prompts.load(None, plan.seed)[:number]
    requests = list(chain.from_iterable(requests_of(sentences)))
    weights = load_weights()
    # The same one in every round: a new one measures the bound on its iterations again, and they would be others.
    engines = {slots: new_engine(weights, Settings(max_slots=slots), time.monotonic) for slots in SLOTS}
    least_s: dict[int, list[float]] = {}
    num_ended: dict[int, int] = {}
    for _ in tqdm(range(plan.num_runs), desc="engine", unit="round"):
        for slots, engine in engines.items():
            times_s, num_ended[slots] = _run(engine, slots, requests)
            least_s[slots] = list(map(min, times_s, least_s.get(slots, times_s)))
    found = {slots: 1e6 * sum(times_s) / max(1, num_ended[slots]) for slots, times_s in least_s.items()}
    return [{"slots": slots, "throughput_per_s": 1e6 / us, "cpu_us": us} for slots, us in found.items()]


def _run(engine: Engine, slots: int, requests: list[CorrectionRequest]) -> tuple[list[float], int]:
    """CPU seconds of each iteration, and how many ended in them: not of the last ones, which leave slots empty."""
    arriving, times_s, num_ended = iter(requests), [], 0
    done: list[Completion] = []
    num_free = 2 * slots
    while engine.policy.has_work or num_free:
        started_s = time.thread_time()
        for _, request in zip(range(num_free), arriving, strict=False):
            engine.accept(Delivery(request, attempt=1, waited_s=0.0))
        done = list(engine.step()) if engine.policy.has_work else []
        num_free = len(done)
        if engine.policy.waiting:
            times_s.append(time.thread_time() - started_s)
            num_ended += num_free
    return times_s, num_ended


def summary(rows: list[Row]) -> list[str]:
    return [medians_table(rows, ("slots",), ("throughput_per_s", "cpu_us"))]


def draw(rows: list[Row], folder: Path) -> list[Path]:
    """No figure: it is a table."""
    return []
