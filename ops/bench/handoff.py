"""`handoff`: what it costs to compute a prompt in one process and decode in another, against what it saves.

For random weights of several widths and prompts of several lengths: the time to read the prompt, which a decode worker
no longer spends, and the time to pack its keys and values, to put them through Redis and to write them into another
cache. No server but Redis; the scripts and the sleeps of a hand-over, about the same for every size, are not in it
(docs/pools.md has them).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from redis import Redis
from tqdm import tqdm

from ops.bench.experiment import Plan, Row, medians
from ops.run import embedded_redis
from scheduler.pools import Handed
from worker.model.attention import context_width
from worker.model.forward import MiniGPT, PackedBatch
from worker.model.weights import ModelConfig, Weights, expected_shapes, fold
from worker.pools.handoff import pack, unpack, weights_digest
from worker.queue.redis_py import connect

CSV = "handoff.csv"
PLANNED = ("num_runs", "scale")  # what of the plan it goes by
WIDTHS = (128, 256, 512, 1024)
LENGTHS = (16, 64, 256, 1024)
_LAYERS, _HEAD_WIDTH, _VOCABULARY = 4, 32, 3072
_REPEATS = 5
_STORE = "redis.set_repl(redis.REPL_NONE); redis.call('SET', KEYS[1], ARGV[1], 'PX', 10000)"  # as hand_over.lua does
_COLUMNS = ("bytes", "prefill_us", "pack_us", "redis_us", "load_us", "hop_us")


def measure(plan: Plan) -> list[Row]:
    rows = []
    repeats = max(2, round(_REPEATS * plan.scale))
    with _redis() as client, tqdm(total=len(WIDTHS) * plan.num_runs, desc="handoff", unit="width") as bar:
        for width in WIDTHS:
            model = MiniGPT(_random_weights(width), context_width(max(LENGTHS)))
            for run in range(1, plan.num_runs + 1):
                rows += [{"run": run, **_row(model, client, length, repeats)} for length in LENGTHS]
                bar.update()
    return rows


def rows_of(weights: Weights, lengths: Sequence[int], repeats: int) -> list[Row]:
    """Of these weights, a row for each length."""
    model = MiniGPT(weights, context_width(max(lengths)))
    with _redis() as client:
        return [_row(model, client, length, repeats) for length in lengths]


@contextmanager
def _redis() -> Iterator[Redis]:
    with tempfile.TemporaryDirectory() as folder:
        server = embedded_redis.start(Path(folder), None)
        try:
            yield connect(server.socket_url)
        finally:
            server.stop()


def _row(model: MiniGPT, client: Redis, length: int, repeats: int) -> Row:
    rows, digest = model.arena.allocate(length), weights_digest(model.weights)
    batch, found = _prompt(model, rows), {}

    def least_us(name: str, work: Callable[[], object]) -> object:
        """The quickest of the repeats: what the machine does besides disturbs single ones."""
        taken = []
        for _ in range(repeats):
            begun_s = time.perf_counter()
            result = work()
            taken.append(time.perf_counter() - begun_s)
        found[name] = 1e6 * min(taken)
        return result

    def packed() -> bytes:
        return pack(Handed(5, 0.0, 0.0, model.arena.layers[:, rows]), digest)

    def through_redis() -> bytes:
        client.eval(_STORE, 1, "miniserve:handoff:bench", handoff)
        return client.getdel("miniserve:handoff:bench")

    def load() -> None:
        layers = model.arena.layers
        layers[:, rows] = unpack(handoff, digest, (len(layers), length, layers.shape[2])).kv

    least_us("prefill_us", lambda: model.forward(batch))
    handoff = least_us("pack_us", packed)
    least_us("redis_us", through_redis)
    least_us("load_us", load)
    model.arena.free(rows)
    hop_us = sum(found[name] for name in ("pack_us", "redis_us", "load_us"))
    return {"width": model.config.width, "tokens": length, "bytes": len(handoff), **found, "hop_us": hop_us}


def _prompt(model: MiniGPT, rows: np.ndarray) -> PackedBatch:
    length = len(rows)
    context = np.zeros((1, context_width(length)), dtype=np.intp)
    context[0, :length] = rows
    ids = np.random.default_rng(length).integers(2, _VOCABULARY, length)
    lengths = np.array([length])
    return PackedBatch(ids, np.arange(length), np.zeros(length, dtype=np.intp), rows, lengths, context, lengths)


def _random_weights(width: int) -> Weights:
    rng = np.random.default_rng(width)
    num_heads, num_positions = width // _HEAD_WIDTH, context_width(max(LENGTHS))
    config = ModelConfig(_VOCABULARY, _LAYERS, num_heads, width, num_positions, 65, eos_bias=0.0)
    tensors = {
        name: np.ones(shape, np.float32)
        if len(shape) == 1
        else (0.02 * rng.standard_normal(shape, dtype=np.float32)).astype(np.float32)
        for name, shape in expected_shapes(config).items()
    }
    return fold(tensors, config, "none")


def summary(rows: list[Row]) -> list[str]:
    lines = ["  width  tokens       bytes   prefill us   pack us  redis us   load us   hop / prefill"]
    for width, points in _points(rows).items():
        for tokens, point in points.items():
            lines.append(
                f"  {width:5.0f}  {tokens:6.0f} {point['bytes']:11,.0f} {point['prefill_us']:12,.0f} "
                f"{point['pack_us']:9,.0f} {point['redis_us']:9,.0f} {point['load_us']:9,.0f}   "
                f"{point['hop_us'] / point['prefill_us']:.2f}"
            )
    return lines


def _points(rows: list[Row]) -> dict[float, dict[float, dict[str, float]]]:
    widths = dict.fromkeys(row["width"] for row in rows)
    return {width: medians([row for row in rows if row["width"] == width], "tokens", _COLUMNS) for width in widths}


def draw(rows: list[Row], folder: Path) -> list[Path]:
    """The share of the saved time that the hop takes, against the length of the prompt."""
    from ops.bench.figures import COLOURS, figure

    path = folder / "break_even.png"
    colours = (COLOURS[name] for name in ("continuous", "static", "threaded", "sync"))
    with figure(path, "Cost of handing a prompt over, against the prefill that it saves") as axes:
        for (width, points), colour in zip(_points(rows).items(), colours, strict=False):
            shares = [point["hop_us"] / point["prefill_us"] for point in points.values()]
            axes.plot(list(points), shares, "o-", color=colour, label=f"width {width:.0f}")
        axes.axhline(1.0, color=COLOURS["text"], linewidth=0.8, linestyle=":", label="break-even")
        axes.set(
            xlabel="tokens of the prompt", ylabel="time of the hop / time of the prefill", xscale="log", yscale="log"
        )
        axes.set_xticks(list(LENGTHS), [str(length) for length in LENGTHS])
        axes.legend()
    return [path]
