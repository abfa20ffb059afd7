"""What the engine alone can do: `python -m ops.bench.engine_rate`. No HTTP, no queue, requests always waiting.

By default the weights are random, of the shipped shape, and so are the requests (prompts of 8 to 19 tokens, 1 to 8
tokens out, 4 on average), so that the work is the same whatever the model has learnt. `--real` takes the shipped model
and the sentences of the load test. `--plain` multiplies by whole matrices instead of blocks: the comparison of
docs/adr/0003-blocked-weights.md.

Rounds repeat the same iterations, and each iteration counts with the least CPU time that it took: what the machine
does besides disturbs single iterations. The share is that of the arithmetic in the time, at the speed of this
machine's matrix product (512 x 512, float32), measured in between.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import click

from ops.load import prompts
from worker.model.blas import configure_blas

NUM_REQUESTS = 1000
_MATRIX = 512


@click.command()
@click.option("--slots", type=click.IntRange(1, 256), multiple=True, default=(1, 8, 32, 64), show_default=True)
@click.option("--plain", is_flag=True, help="Whole matrices instead of blocks of 64 columns.")
@click.option("--real", is_flag=True, help="The shipped model and real sentences.")
@click.option("--prompts", "path", type=click.Path(exists=True, path_type=Path), help="Their file, one a line.")
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True)
def main(slots: tuple[int, ...], plain: bool, real: bool, path: Path | None, rounds: int) -> None:
    """Print for each number of slots how many corrections the engine makes per second, and the arithmetic's share."""
    configure_blas(os.environ)  # before NumPy is imported
    if plain:
        _multiply_by_whole_matrices()
    weights, requests = _real_work(path) if real or path else _random_work()
    runs, gflop_per_s = {number: _Run(weights, number) for number in slots}, 0.0
    for _ in range(rounds):
        for run in runs.values():
            run.repeat(requests)
            gflop_per_s = max(gflop_per_s, _matrix_gflop_per_s())
    click.echo(f"matrix product: {gflop_per_s:.0f} GFLOP/s")
    for number, run in runs.items():
        seconds, mflop = sum(run.least_s) / run.num_counted, run.num_flop / len(requests) / 1e6
        share = mflop / 1e3 / gflop_per_s / seconds
        click.echo(
            f"{number:4} slots  {1 / seconds:6,.0f} corrections/s  {seconds * 1e6:6,.0f} us  "
            f"{mflop:5.1f} MFLOP a correction  {share:4.0%} of the time is arithmetic"
        )


class _Run:
    """An engine with so many slots. The last requests, which leave slots empty, are not counted."""

    def __init__(self, weights: Any, num_slots: int) -> None:
        from scheduler.settings import Settings
        from worker.engine import new_engine

        self.least_s: list[float] = []
        self.num_counted = self.num_flop = 0
        self._num_slots = num_slots
        self._engine = new_engine(weights, Settings(max_slots=num_slots), time.monotonic)

    def repeat(self, requests: list) -> None:
        """Run them all, as fast as the engine takes them."""
        from scheduler.messages import Delivery

        config, arriving = self._engine.model.config, iter(requests)
        lengths = {request.request_id: len(request.prompt_ids) for request in requests}
        times, self.num_counted, self.num_flop, done = [], 0, 0, [None] * 2 * self._num_slots
        while self._engine.has_work or done:
            started = time.thread_time()
            for _, request in zip(done, arriving, strict=False):
                self._engine.accept(Delivery(request, attempt=1, waited_s=0.0))
            done = self._engine.step() if self._engine.has_work else []
            self.num_flop += sum(_flop(config, lengths[each.request_id], len(each.output_ids)) for each in done)
            if self._engine.policy.waiting:
                times.append(time.thread_time() - started)
                self.num_counted += len(done)
        self.least_s = list(map(min, times, self.least_s or times))


def _flop(config: Any, num_prompt: int, num_output: int) -> int:
    """Multiplications and additions of a correction; the last layer's are done only for rows that give a token."""
    width, inner = config.width, config.num_layers - 1
    block, vocabulary = 12 * width**2, width * config.vocab_size
    prompt = num_prompt * (inner * (block + 2 * num_prompt * width) + 2 * width**2)
    first = 10 * width**2 + 2 * num_prompt * width + vocabulary
    contexts = sum(range(num_prompt + 1, num_prompt + num_output))
    others = (num_output - 1) * ((inner + 1) * block + vocabulary) + (inner + 1) * 2 * contexts * width
    return 2 * (prompt + first + others)


def _matrix_gflop_per_s() -> float:
    import numpy as np

    matrix = np.random.default_rng(0).standard_normal((_MATRIX, _MATRIX)).astype(np.float32)
    product, least_s = np.empty_like(matrix), float("inf")
    for _ in range(20):
        started = time.thread_time()
        np.matmul(matrix, matrix, out=product)
        least_s = min(least_s, time.thread_time() - started)
    return 2 * _MATRIX**3 / least_s / 1e9


def _real_work(path: Path | None) -> tuple[Any, list]:
    from api.grammar.pipeline import TextPipeline
    from scheduler.messages import MAX_OUTPUT_TOKENS, CorrectionRequest
    from worker.model.weights import load_weights

    pipeline, requests = TextPipeline.load(), []
    for text in prompts.load(path, seed=0)[:NUM_REQUESTS]:
        for draft in pipeline.prepare_text(text).sentences:
            ids, words = draft.prompt.token_ids, draft.prompt.word_numbers
            name = f"r{len(requests)}"
            requests.append(CorrectionRequest(name, ids, words, MAX_OUTPUT_TOKENS, pipeline.tokenizer_fingerprint))
    return load_weights(), requests


def _random_work() -> tuple[Any, list]:
    import numpy as np

    from scheduler.messages import CorrectionRequest
    from worker.model.weights import ModelConfig, expected_shapes, fold

    rng = np.random.default_rng(0)
    config = ModelConfig(3072, 4, 4, 128, 160, 65, eos_bias=2.0)
    tensors = {
        name: np.ones(shape, np.float32) if len(shape) == 1 else (0.05 * rng.standard_normal(shape)).astype(np.float32)
        for name, shape in expected_shapes(config).items()
    }
    requests = []
    for number in range(NUM_REQUESTS):
        length = int(rng.integers(8, 20))
        num_out = 1 if rng.random() < 0.4 else int(rng.integers(4, 9))
        prompt = tuple(rng.integers(110, 3000, length).tolist())
        requests.append(CorrectionRequest(f"r{number}", prompt, (0,) * length, num_out, "none"))
    return fold(tensors, config, "none"), requests


def _multiply_by_whole_matrices() -> None:
    import numpy as np

    from worker.model import forward

    whole: dict[int, tuple[forward.BlockedMatrix, np.ndarray]] = {}  # the matrix is kept, so that its id stays its own

    def multiply(rows: np.ndarray, matrix: forward.BlockedMatrix, blocks: np.ndarray) -> None:
        if id(matrix) not in whole:
            columns = matrix.blocks.transpose(1, 0, 2).reshape(matrix.num_inputs, -1)
            whole[id(matrix)] = (matrix, np.ascontiguousarray(columns))
        np.matmul(rows, whole[id(matrix)][1], out=blocks.transpose(1, 0, 2).reshape(len(rows), -1))

    forward.multiply = multiply


if __name__ == "__main__":
    main()
