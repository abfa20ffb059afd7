"""What the engine alone can do: `python -m ops.engine_rate`. No HTTP, no queue, requests always waiting.

Random weights of the shipped shape and random requests (prompts of 8 to 19 tokens, 1 to 8 tokens out, 4 on average), so
that the work is the same whatever the model has learnt. `--plain` multiplies by whole matrices instead of blocks: the
comparison of docs/adr/0003-blocked-weights.md.
"""

from __future__ import annotations

import os
import time

import click

from worker.blas import configure_blas

NUM_REQUESTS = 2000


@click.command()
@click.option("--slots", type=click.IntRange(1, 256), multiple=True, default=(1, 8, 32, 64), show_default=True)
@click.option("--plain", is_flag=True, help="Whole matrices instead of blocks of 64 columns.")
def main(slots: tuple[int, ...], plain: bool) -> None:
    """Print corrections per second for each number of slots."""
    configure_blas(os.environ)  # before NumPy is imported
    if plain:
        _multiply_by_whole_matrices()
    for number in slots:
        click.echo(f"{number:4} slots  {_corrections_per_s(number):6,.0f} corrections/s")


def _corrections_per_s(num_slots: int) -> float:
    engine = _filled_engine(num_slots)
    started = time.perf_counter()
    while engine.has_work:
        engine.step()
    return NUM_REQUESTS / (time.perf_counter() - started)


def _filled_engine(num_slots: int):  # noqa: ANN202 - the engine is imported only once BLAS is set up
    import numpy as np

    from scheduler.batching import BatchLimits
    from scheduler.continuous import ContinuousBatching
    from scheduler.messages import CorrectionRequest, Delivery
    from worker.engine import Engine
    from worker.model import MiniGPT
    from worker.weights import ModelConfig, expected_shapes, fold

    rng = np.random.default_rng(0)
    config = ModelConfig(3072, 4, 4, 128, 160, 65, eos_bias=2.0)
    tensors = {
        name: np.ones(shape, np.float32) if len(shape) == 1 else (0.05 * rng.standard_normal(shape)).astype(np.float32)
        for name, shape in expected_shapes(config).items()
    }
    limits = BatchLimits(kv_budget_tokens=4096, max_slots=num_slots, max_iteration_tokens=512)
    engine = Engine(
        MiniGPT(fold(tensors, config, "none"), limits.kv_budget_tokens), ContinuousBatching(limits), time.monotonic
    )
    for number in range(NUM_REQUESTS):
        length = int(rng.integers(8, 20))
        num_out = 1 if rng.random() < 0.4 else int(rng.integers(4, 9))
        prompt = tuple(rng.integers(110, 3000, length).tolist())
        engine.accept(Delivery(CorrectionRequest(f"r{number}", prompt, (0,) * length, num_out, "none"), 1, 0.0))
    return engine


def _multiply_by_whole_matrices() -> None:
    import numpy as np

    from worker import model

    whole: dict[int, tuple[model.BlockedMatrix, np.ndarray]] = {}  # the matrix is kept, so that its id stays its own

    def multiply(rows: np.ndarray, matrix: model.BlockedMatrix) -> np.ndarray:
        if id(matrix) not in whole:
            columns = matrix.blocks.transpose(1, 0, 2).reshape(matrix.num_inputs, -1)
            whole[id(matrix)] = (matrix, np.ascontiguousarray(columns))
        return rows @ whole[id(matrix)][1]

    model.multiply = multiply


if __name__ == "__main__":
    main()
