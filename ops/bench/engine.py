"""`engine`: what the engine alone can do. No HTTP, no queue, requests always waiting.

Random weights of the shipped shape and random requests (prompts of 8 to 19 tokens, 1 to 8 tokens out, 4 on average) are
the same work for every model. The shipped model gets real sentences.

Rounds repeat the same iterations, and each iteration counts with the least CPU time that it took: what the machine
does besides disturbs single iterations. The share is that of the arithmetic in the time, at the speed of this
machine's matrix product (512 x 512, float32), measured in between.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from ops.bench.experiment import Plan, Row
from ops.load import prompts
from ops.plan.mix import sized_texts
from ops.tables import table
from scheduler.messages import CorrectionRequest, Delivery
from scheduler.settings import Settings
from worker.engine import new_engine
from worker.model.weights import ModelConfig, Weights, expected_shapes, fold, load_weights

CSV = "engine.csv"
PLANNED = ("num_runs", "scale", "sentences")  # what of the plan it goes by
SLOTS = (1, 8, 32, 64)
_NUM_REQUESTS = 1000
_MATRIX = 512
Work = tuple[Weights, list[CorrectionRequest]]


def measure(plan: Plan) -> list[Row]:
    number = max(1, round(_NUM_REQUESTS * plan.scale))
    sentences = prompts.load(Path(plan.sentences) if plan.sentences else None, plan.seed)[:number]
    real = [request for text in sized_texts(sentences) for request, _ in text]
    cases = {"random": _random_work(number), "sentences": (load_weights(), real)}
    rows = []
    with tqdm(total=len(cases) * plan.num_runs, desc="engine", unit="round") as bar:
        for label, work in cases.items():
            rows += [{"work": label, **row} for row in _measure(work, plan.num_runs, bar)]
    return rows


def _measure(work: Work, num_runs: int, bar: tqdm) -> list[Row]:
    weights, requests = work
    runs, gflop_per_s = {number: _Run(weights, number) for number in SLOTS}, 0.0
    for _ in range(num_runs):
        for run in runs.values():
            run.repeat(requests)
            gflop_per_s = max(gflop_per_s, _matrix_gflop_per_s())
        bar.update()
    return [
        {"slots": number, "us": run.us, "mflop": run.num_flop / len(requests) / 1e6, "matrix_gflop_per_s": gflop_per_s}
        for number, run in runs.items()
    ]


def summary(rows: list[Row]) -> list[str]:
    cells = [
        (row["work"], round(row["slots"]), round(1e6 / row["us"]), round(row["us"]), f"{row['mflop']:.1f}",
         f"{row['mflop'] / row['us'] * 1e3 / row['matrix_gflop_per_s']:.0%}")
        for row in rows
    ]  # fmt: skip
    return [table(("work", ">slots", ">corrections/s", ">us", ">MFLOP each", ">arithmetic"), cells)]


def draw(rows: list[Row], folder: Path) -> list[Path]:
    """No figure: it is a table."""
    return []


class _Run:
    """An engine with so many slots. The last requests, which leave slots empty, are not counted."""

    def __init__(self, weights: Weights, num_slots: int) -> None:
        self.least_s: list[float] = []
        self.num_counted = self.num_flop = 0
        self._num_slots = num_slots
        self._engine = new_engine(weights, Settings(max_slots=num_slots), time.monotonic)

    @property
    def us(self) -> float:
        """CPU time of a correction."""
        return 1e6 * sum(self.least_s) / max(1, self.num_counted)

    def repeat(self, requests: list[CorrectionRequest]) -> None:
        """Run them all, as fast as the engine takes them."""
        config, arriving = self._engine.model.config, iter(requests)
        lengths = {request.request_id: len(request.prompt_ids) for request in requests}
        done: list[Any] = [None] * 2 * self._num_slots  # so many places are free
        times, self.num_counted, self.num_flop = [], 0, 0
        while self._engine.policy.has_work or done:
            started = time.thread_time()
            for _, request in zip(done, arriving, strict=False):
                self._engine.accept(Delivery(request, attempt=1, waited_s=0.0))
            done = self._engine.step() if self._engine.policy.has_work else []
            self.num_flop += sum(_flop(config, lengths[each.request_id], len(each.output_ids)) for each in done)
            if self._engine.policy.waiting:
                times.append(time.thread_time() - started)
                self.num_counted += len(done)
        self.least_s = list(map(min, times, self.least_s or times))


def _flop(config: ModelConfig, num_prompt: int, num_output: int) -> int:
    """Multiplications and additions of a correction; the last layer's are done only for rows that give a token."""
    width, inner = config.width, config.num_layers - 1
    block, vocabulary = 12 * width**2, width * config.vocab_size
    prompt = num_prompt * (inner * (block + 2 * num_prompt * width) + 2 * width**2)
    first = 10 * width**2 + 2 * num_prompt * width + vocabulary
    contexts = sum(range(num_prompt + 1, num_prompt + num_output))
    others = (num_output - 1) * ((inner + 1) * block + vocabulary) + (inner + 1) * 2 * contexts * width
    return 2 * (prompt + first + others)


def _matrix_gflop_per_s() -> float:
    matrix = np.random.default_rng(0).standard_normal((_MATRIX, _MATRIX)).astype(np.float32)
    product, least_s = np.empty_like(matrix), float("inf")
    for _ in range(20):
        started = time.thread_time()
        np.matmul(matrix, matrix, out=product)
        least_s = min(least_s, time.thread_time() - started)
    return 2 * _MATRIX**3 / least_s / 1e9


def _random_work(number: int) -> Work:
    rng = np.random.default_rng(0)
    config = ModelConfig(3072, 4, 4, 128, 160, 65, eos_bias=2.0)
    tensors = {
        name: np.ones(shape, np.float32) if len(shape) == 1 else (0.05 * rng.standard_normal(shape)).astype(np.float32)
        for name, shape in expected_shapes(config).items()
    }
    requests = []
    for each in range(number):
        length = int(rng.integers(8, 20))
        num_out = 1 if rng.random() < 0.4 else int(rng.integers(4, 9))
        prompt = tuple(rng.integers(110, 3000, length).tolist())
        requests.append(CorrectionRequest(f"r{each}", prompt, (0,) * length, num_out, "none"))
    return fold(tensors, config, "none"), requests
