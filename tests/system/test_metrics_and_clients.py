"""What GET /metrics tells of a known load, against what its clients measured themselves."""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from prometheus_client.metrics_core import Metric

from api.grammar.sentences import find_sentences
from ops.drills.system import Shape, System, running
from ops.drills.workers import SlowShape
from ops.load import prompts
from ops.load.arrivals import ClosedLoop, Limits, OpenLoop
from ops.load.client import Client
from ops.load.generator import Generator
from ops.load.measurements import Measurements
from ops.load.server_timing import breakdown
from scheduler.observations import TIME_BUCKETS_S
from tests.exposed_metrics import families_of
from tests.running_system import send, wait_until

pytestmark = pytest.mark.alone
WARM_UP_S = 3.0
LOAD_S = 15.0
SCRAPE_EVERY_S = 0.2
SHAPE = SlowShape(num_layers=4)  # some tens of corrections a second: neither client nor API is the limit


class AsSent(OpenLoop):
    """Poisson, and latencies from the moment of sending: no server can know since when it was due."""

    def take(self, elapsed_s: float, num_in_flight: int) -> float | None:
        return None if super().take(elapsed_s, num_in_flight) is None else elapsed_s


@dataclass(slots=True)
class Scraper:
    """Looks at each replica in turn while a block runs, and compares the counts at every look."""

    urls: Sequence[str]
    num_looks: int = 0
    off: list[dict[str, float]] = field(default_factory=list)
    _is_over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Scraper:
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(SCRAPE_EVERY_S):
            families = scrape(self.urls[self.num_looks % len(self.urls)])
            self.num_looks += 1
            names = ("requests_accepted", "request_success", "request_failure", "num_requests_waiting",
                     "num_requests_running")  # fmt: skip
            accepted, *parts = (total(families, name) for name in names)
            if accepted != sum(parts):
                self.off.append(dict(zip(names, (accepted, *parts), strict=True)))


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one load on a fresh system."""

    client: Measurements
    before: dict[str, Metric]
    after: dict[str, Metric]
    scraper: Scraper

    def added(self, name: str) -> float:
        return total(self.after, name) - total(self.before, name)

    def histogram(self, name: str) -> tuple[list[float], float]:
        """Counts by bucket alone, and the mean."""
        counts = np.array(_cumulative(self.after, name)) - np.array(_cumulative(self.before, name))
        sums = [_sample(told, name, "_sum") for told in (self.before, self.after)]
        return np.diff(counts, prepend=0).tolist(), (sums[1] - sums[0]) / counts[-1]


def scrape(url: str) -> dict[str, Metric]:
    families = families_of(send(url, "GET", "/metrics").body.encode())
    return {name.removeprefix("miniserve_"): family for name, family in families.items()}


def total(families: dict[str, Metric], name: str) -> float:
    """Over all labels."""
    return sum(sample.value for sample in families[name].samples)


def _cumulative(families: dict[str, Metric], name: str) -> list[float]:
    return [sample.value for sample in families[name].samples if sample.name.endswith("_bucket")]


def _sample(families: dict[str, Metric], name: str, suffix: str) -> float:
    return next(sample.value for sample in families[name].samples if sample.name.endswith(suffix))


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    """Half of what a closed loop got through, of single sentences, over two replicas."""
    shape = Shape(num_apis=2, worker_command=SHAPE.command)
    sentences = [text for text in prompts.load(None, 0) if len([*find_sentences(text)]) == 1]
    with running(shape) as system:
        client = Client(system.urls[0])
        peak = Generator(client, sentences, ClosedLoop(64), Limits(duration_s=WARM_UP_S)).run()
        rate_per_s = 0.5 * peak.statuses[200] / peak.elapsed_s
        before = _once_reported(system)
        with Scraper(system.urls) as scraper:
            arrivals = AsSent(rate_per_s, 1, 512)
            client = Generator(client, sentences, arrivals, Limits(duration_s=LOAD_S)).run()
        yield Outcome(client, before, _once_reported(system), scraper)


def _once_reported(system: System) -> dict[str, Metric]:
    """What is told once processes and clients have nothing more to say."""
    names = ("e2e_request_latency_seconds", "request_decode_time_seconds")
    told: dict[str, Metric] = {}

    def is_reported() -> bool:
        told.update(scrape(system.urls[1]))
        num_done = total(told, "request_success")
        return num_done > 0 and all(_cumulative(told, name)[-1] == num_done for name in names)

    wait_until(is_reported, 10, "every answer in every histogram")
    return told


def test_every_answer_of_the_clients_is_counted_once(outcome: Outcome) -> None:
    num_answers = outcome.client.statuses[200]

    assert outcome.client.statuses == {200: num_answers} and not outcome.client.failures
    assert num_answers > 100
    for name in ("requests_accepted", "request_success"):
        assert outcome.added(name) == num_answers
    for name in ("e2e_request_latency", "time_to_first_token", "request_queue_time", "request_decode_time"):
        assert sum(outcome.histogram(f"{name}_seconds")[0]) == num_answers


def test_the_mean_latency_is_that_of_the_clients_within_5_percent(outcome: Outcome) -> None:
    _, mean_s = outcome.histogram("e2e_request_latency_seconds")

    assert mean_s == pytest.approx(np.mean(outcome.client.latencies_s), rel=0.05)


@pytest.mark.parametrize("quantile", [0.5, 0.95, 0.99])
def test_quantiles_are_those_of_the_clients_within_one_bucket(outcome: Outcome, quantile: float) -> None:
    counts, _ = outcome.histogram("e2e_request_latency_seconds")

    rank = math.ceil(quantile * sum(counts))
    ours = int(np.searchsorted(np.cumsum(counts), rank))
    theirs = bisect_left(TIME_BUCKETS_S, sorted(outcome.client.latencies_s)[rank - 1])
    assert abs(ours - theirs) <= 1, f"{TIME_BUCKETS_S[ours]:g} s told, {TIME_BUCKETS_S[theirs]:g} s measured"


def test_queue_prefill_and_decode_are_those_of_the_answers_headers(outcome: Outcome) -> None:
    headers = breakdown(outcome.client.server_timings, outcome.client.latencies_s)

    for part, name in (("queue", "queue"), ("prefill", "prefill"), ("decode", "decode")):
        _, mean_s = outcome.histogram(f"request_{name}_time_seconds")
        assert 1e3 * mean_s == pytest.approx(headers["all"][part], rel=0.01, abs=0.06), part


def test_the_counts_balance_at_every_scrape_of_either_replica(outcome: Outcome) -> None:
    assert outcome.scraper.num_looks >= 10
    assert outcome.scraper.off == []


def test_tokens_and_iterations_agree_with_each_other(outcome: Outcome) -> None:
    num_answers = outcome.client.statuses[200]
    decode_steps = sum(outcome.histogram("inter_token_latency_seconds")[0])

    assert outcome.added("generation_tokens") == decode_steps + num_answers
    _, mean_tokens = outcome.histogram("iteration_tokens")
    num_iterations = outcome.added("iterations")
    assert mean_tokens * num_iterations == pytest.approx(outcome.added("prompt_tokens") + decode_steps)
    _, ttft_s = outcome.histogram("time_to_first_token_seconds")
    parts = [outcome.histogram(f"request_{part}_time_seconds")[1] for part in ("queue", "prefill")]
    assert ttft_s == pytest.approx(sum(parts))
