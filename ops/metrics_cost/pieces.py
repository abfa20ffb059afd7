"""What counting, reporting and telling cost by themselves: CPU time of this process around calls of the real code."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from redis.connection import Connection

from api.metrics import metrics_text
from api.readiness import ASK_EVERY_S
from api.tallies import Tallies
from scheduler.batching import BatchLimits
from scheduler.continuous import ContinuousBatching
from scheduler.messages import Completion, CorrectionRequest, FinishReason, Timings
from scheduler.observations import Iteration, Observations
from scheduler.observed import Moment, Observed, WorkerFacts
from scheduler.settings import Settings
from worker.mailbox.protocol import BEAT_S
from worker.mailbox.reporter import Reporter
from worker.vitals import Vitals

_ITERATIONS_A_REQUEST = 1.0  # with eight in a batch and eight tokens for each; alone it is eight
_HISTORY_ROWS = 120
_CONNECTION = Connection()  # never connected: it only packs


@dataclass(frozen=True, slots=True)
class Piece:
    """One of them, and how often it happens."""

    name: str
    us: float  # each
    per_request: float = 0.0
    per_s: float = 0.0

    def us_per_request(self, requests_per_s: float) -> float:
        return self.us * (self.per_request + self.per_s / requests_per_s)


def measure(scrape_every_s: float) -> Iterator[Piece]:
    """All pieces in Python; Redis' own are measured by `scripts`."""
    observations, tallies = Observations(), Tallies()
    iteration = Iteration(prompt_tokens=12, num_prefills=1, num_decodes=7, seconds=0.004)
    yield Piece(
        "worker: count an iteration", _us(lambda: observations.note_iteration(iteration)), _ITERATIONS_A_REQUEST
    )
    yield Piece("worker: count a request", _us(lambda: _count_request(observations)), per_request=1)
    yield Piece("api: count a request", _us(lambda: _count_response(tallies)), per_request=1)
    yield Piece("worker: report", _us(_worker_report(), 2000), per_s=1 / BEAT_S)
    yield Piece("api: report", _us(_api_report(tallies), 2000), per_s=1 / ASK_EVERY_S)
    yield Piece("api: tell /metrics", _us(_telling(observations, tallies), 100), per_s=1 / scrape_every_s)


def _us(call: Callable[[], object], times: int = 50_000) -> float:
    """The least of five means: what else this machine does only adds to them."""
    means = []
    for _ in range(5):
        started_s = time.process_time()
        for _ in range(times // 5):
            call()
        means.append((time.process_time() - started_s) / (times // 5))
    return 1e6 * min(means)


_REQUEST = CorrectionRequest("r", tuple(range(2, 14)), (0,) * 12, 32, "fingerprint")
_COMPLETION = Completion("r", FinishReason.STOP, (7, 8, 1), Timings(0.001, 0.004, 0.02))


def _count_request(observations: Observations) -> None:
    observations.note_first_token(0.001, 0.004)
    observations.note_end(_REQUEST, _COMPLETION)


def _count_response(tallies: Tallies) -> None:
    tallies.note_response("/correct", 200, None)
    tallies.note_answer(0.025)


def _worker_report() -> Callable[[], None]:
    policy = ContinuousBatching(BatchLimits(4096, 64, 512))
    vitals, reporter = Vitals(policy, time.monotonic), Reporter()

    def report() -> None:
        for tokens in range(8):
            policy.observations.note_iteration(Iteration(12 + tokens, 1, tokens, 0.001 * tokens))
        _count_request(policy.observations)
        _send(reporter, vitals.report().totals)

    return report


def _api_report(tallies: Tallies) -> Callable[[], None]:
    reporter = Reporter(is_api=True)

    def report() -> None:
        _count_response(tallies)
        _send(reporter, tallies.totals())

    return report


def _send(reporter: Reporter, totals: dict[str, float]) -> None:
    _CONNECTION.pack_commands(reporter.commands(totals))
    reporter.note_replies([0])


def _telling(observations: Observations, tallies: Tallies) -> Callable[[], bytes]:
    settings, totals = Settings(), {**observations.totals(), **tallies.totals()}
    sums = {name.removeprefix("iteration:"): value for name, value in totals.items() if name.startswith("iteration:")}
    history = tuple(
        Moment(float(at), at, at, 10 * at, 10 * at, {name: value * at for name, value in sums.items()})
        for at in range(1, _HISTORY_ROWS + 1)
    )
    now = Moment(121.0, 121.0, 121.0, 1210, 1210, {name: value * 121 for name, value in sums.items()})
    workers = tuple(WorkerFacts(f"worker-{number}", 8, 0, 300, 4096, 64, 5000.0) for number in range(2))
    seen = Observed(now, history, workers, 2, {"accepted": 1210, "done": 1210}, totals)
    return lambda: metrics_text(seen, settings)
