"""`stalls`: how long a long text holds up the others, who decode while its prompts are read.

The engine alone, on a clock of its own: the CPU time of its iterations, and no time while nothing is to be computed. So
other work on the machine changes nothing. Others come as a Poisson process, and once a second a text of 60 sentences.
The gap between two tokens of a request is the time of an iteration.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from ops.bench.engine import Work, real_work
from ops.bench.experiment import Plan, Row, medians
from scheduler.messages import CorrectionRequest, Delivery
from scheduler.settings import Settings
from worker.engine import new_engine

CSV = "stalls.csv"
PLANNED = ("num_runs", "scale", "sentences")  # what of the plan it goes by
RATES_PER_S = (100, 400)  # of the others: sentences
SENTENCES = 60  # of the text
_SECONDS = 10.0
_EVERY_S = 1.0
_NUM_REQUESTS = 1200
_NO_STALL_MS, _NO_TOKENS = 60_000.0, 65_536  # no bound
_QUANTILES = {"p50_ms": 50, "p99_ms": 99, "p999_ms": 99.9, "max_ms": 100}
_COLUMNS = ("gaps", *_QUANTILES, "text_ms", "others_p95_ms")
# How it is called: whether the text comes, and the settings.
CASES: dict[str, tuple[bool, dict[str, Any]]] = {
    "undisturbed": (False, {}),
    "as it ships": (True, {}),
    "tokens alone": (True, {"max_stall_ms": _NO_STALL_MS}),
    "no bound": (True, {"max_stall_ms": _NO_STALL_MS, "max_iteration_tokens": _NO_TOKENS}),
}


def measure(plan: Plan) -> list[Row]:
    """Each case at each rate in every round."""
    work, rows = real_work(plan, _NUM_REQUESTS), []
    with tqdm(total=plan.num_runs * len(RATES_PER_S) * len(CASES), desc="stalls", unit="case") as bar:
        for run in range(1, plan.num_runs + 1):
            for rate in RATES_PER_S:
                for case, (has_text, settings) in CASES.items():
                    load = Load(work, Settings(**settings), rate, plan.seed + run)
                    load.run(_SECONDS * plan.scale, has_text)
                    rows.append({"run": run, "rate": rate, "case": case, **load.columns()})
                    bar.update()
    return rows


class Load:
    """An engine, and who asks it for something; times are those of its own clock."""

    def __init__(self, work: Work, settings: Settings, rate_per_s: float, seed: int) -> None:
        weights, self._requests = work
        self._rate_per_s, self._dice = rate_per_s, random.Random(seed)
        self._now_s, self._begun_s = 0.0, -1.0
        self._engine = new_engine(weights, settings, self._clock)
        self._num_sent = 0
        self._others: dict[str, float] = {}  # since when each is here
        self._texts: dict[float, set[str]] = {}  # what is open of the text of that time
        self.gaps_ms: list[float] = []
        self._waits_ms: list[float] = []
        self._text_ms: list[float] = []

    def run(self, seconds: float, has_text: bool) -> None:
        next_s = self._dice.expovariate(self._rate_per_s)
        text_s = _EVERY_S if has_text else float("inf")
        while self._now_s < seconds:
            while next_s <= self._now_s:
                self._others[self._send()] = next_s
                next_s += self._dice.expovariate(self._rate_per_s)
            if text_s <= self._now_s:
                self._texts[text_s] = {self._send() for _ in range(SENTENCES)}
                text_s += _EVERY_S
            if self._engine.policy.has_work:
                self._iterate()
            else:
                self._now_s = min(next_s, text_s)

    def _clock(self) -> float:
        return self._now_s + (time.thread_time() - self._begun_s if self._begun_s >= 0 else 0.0)

    def _send(self) -> str:
        request: CorrectionRequest = self._requests[self._num_sent % len(self._requests)]
        request = replace(request, request_id=f"r{self._num_sent}")
        self._num_sent += 1
        self._engine.accept(Delivery(request, attempt=1, waited_s=0.0))
        return request.request_id

    def _iterate(self) -> None:
        num_decoding = sum(name in self._others for name in self._engine.policy.running)
        self._begun_s = time.thread_time()
        done = self._engine.step()
        self._now_s, begun_s, self._begun_s = self._clock(), self._now_s, -1.0
        self.gaps_ms += [1e3 * (self._now_s - begun_s)] * num_decoding
        self._note_ends({completion.request_id for completion in done})

    def _note_ends(self, ended: set[str]) -> None:
        for name in ended & self._others.keys():
            self._waits_ms.append(1e3 * (self._now_s - self._others.pop(name)))
        for since_s, open_ids in list(self._texts.items()):
            open_ids -= ended
            if not open_ids:
                self._text_ms.append(1e3 * (self._now_s - since_s))
                del self._texts[since_s]

    def columns(self) -> Row:
        found = {name: float(np.percentile(self.gaps_ms, q)) for name, q in _QUANTILES.items()}
        text_ms = float(np.median(self._text_ms)) if self._text_ms else np.nan
        return {"gaps": len(self.gaps_ms), **found, "text_ms": text_ms,
                "others_p95_ms": float(np.percentile(self._waits_ms, 95))}  # fmt: skip


def summary(rows: Sequence[Row]) -> list[str]:
    lines = []
    for rate, points in _points(rows).items():
        lines.append(f"  {rate:.0f} sentences/s of others, and a text of {SENTENCES} every second")
        for case, point in points.items():
            ratio = point["p99_ms"] / points["undisturbed"]["p99_ms"]
            lines.append(
                f"    {case:<12} gaps p50 {point['p50_ms']:.2f}, p99 {point['p99_ms']:.2f} ({ratio:.2f}), p99.9 "
                f"{point['p999_ms']:.2f}, longest {point['max_ms']:.1f} ms; others' p95 {point['others_p95_ms']:.1f}, "
                f"text {point['text_ms']:.0f} ms"
            )
    return lines


def _points(rows: Sequence[Row]) -> dict[float, dict[str, dict[str, float]]]:
    rates = dict.fromkeys(row["rate"] for row in rows)
    return {rate: medians([row for row in rows if row["rate"] == rate], "case", _COLUMNS) for rate in rates}


def draw(rows: Sequence[Row], folder: Path) -> list[Path]:
    """p99 and the longest gap of each case."""
    from ops.bench.figures import COLOURS, figure

    path, found = folder / "token_gaps.png", _points(rows)
    columns = ("p99_ms", "p999_ms", "max_ms")
    with figure(path, "Gaps between two tokens of the others, as a long text comes every second") as axes:
        for number, (case, colour) in enumerate(zip(CASES, ("static", "continuous", "threaded", "sync"), strict=True)):
            heights = [points[case][name] for points in found.values() for name in columns]
            places = [place + 0.21 * number for place in range(len(heights))]
            bars = axes.bar(places, heights, 0.2, color=COLOURS[colour], label=case)
            axes.bar_label(bars, fmt="{:.1f}", padding=2, fontsize=7)
        names = [f"{name}\n{rate:.0f}/s" for rate in found for name in ("p99", "p99.9", "longest")]
        axes.set_xticks([place + 0.31 for place in range(len(names))], names)
        axes.set(ylabel="ms of CPU time")
        axes.margins(y=0.15)
        axes.legend(loc="upper left")
    return [path]
