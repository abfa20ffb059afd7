"""What a process counts of its own work, as numbers that only grow: totals, histograms, and sums over iterations.

Many processes serve one system. Each reports to the queue what it has counted since its last report, and the sums there
are the metrics of the whole. So nothing here is a mean or a rate: these do not add up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from scheduler.messages import Completion, CorrectionRequest, Delivery, FinishReason, Timings

if TYPE_CHECKING:
    from scheduler.batching import ContinuousBatching, StepPlan

# In steps of a half, about: a median read from them is off by a quarter at most. Sizes end between whole numbers.
TIME_BUCKETS_S = (
    0.001, 0.0015, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075,
    0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0,
)  # fmt: skip
_SIZES = (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
SIZE_BUCKETS = (0.75, 1.25, 2.25, 3.25, *[size + 0.5 for size in _SIZES])
SUM = "sum"


class Histogram:
    """Counts by bucket. `bounds` are inclusive upper ends, ascending; what is above them all is counted last."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    def totals(self, name: str) -> dict[str, float]:
        """`name:0`, `name:1`, ... of each bucket alone, and `name:sum`."""
        return {f"{name}:{at}": count for at, count in enumerate(self.counts)} | {f"{name}:{SUM}": self.sum}


DECODE_WORK = 2  # prompt tokens that cost as much as a decode step: 47 and 28 us of a Zen 4


@dataclass(slots=True)
class IterationSums:
    """Sums over all iterations that suffice to fit their cost: seconds = fixed + unit * work.

    The work of an iteration is 1 for each prompt token and DECODE_WORK for each decode step.
    """

    n: int = 0
    t: float = 0.0  # seconds, with the exchange with the queue in them
    tt: float = 0.0
    p: int = 0  # prompt tokens read
    d: int = 0  # decode steps
    work: int = 0
    work2: int = 0  # the squares of these
    work_t: float = 0.0  # work * seconds
    # Of the requests that came to their own end:
    requests: int = 0
    prompts: int = 0  # their prompt tokens
    outputs: int = 0  # their output tokens
    reserved: int = 0  # their reserved tokens
    queue_s: float = 0.0  # and their time in the queue

    def add_iteration(self, p: int, d: int, t: float) -> None:
        self.n += 1
        self.t += t
        self.tt += t * t
        self.p += p
        self.d += d
        work = p + DECODE_WORK * d
        self.work += work
        self.work2 += work * work
        self.work_t += work * t

    def add_request(self, request: CorrectionRequest, output_tokens: int, queue_s: float) -> None:
        self.requests += 1
        self.prompts += len(request.prompt_ids)
        self.outputs += output_tokens
        self.reserved += request.reserved_tokens
        self.queue_s += queue_s


ITERATIONS = "iteration"  # of the fields that hold IterationSums


@dataclass(slots=True)
class Counters:
    """Counts what IterationSums do not hold, for one batching policy since its start."""

    prefill_iterations: int = 0  # iterations that read at least one prompt
    prefills: int = 0  # prompts read; divided by prefill_iterations: who starts together
    decode_iterations: int = 0  # with at least one decode step in them; sums.d / these: the mean decode batch
    deferred_for_budget: int = 0  # requests that once stood first in line and did not fit


class EngineHistograms:
    """What an engine sees of its requests; seconds, but for the two sizes. Named as the metrics are."""

    def __init__(self) -> None:
        self.time_to_first_token = Histogram(TIME_BUCKETS_S)  # queueing included
        self.inter_token_latency = Histogram(TIME_BUCKETS_S)
        self.request_queue_time = Histogram(TIME_BUCKETS_S)  # acceptance until first scheduled
        self.request_prefill_time = Histogram(TIME_BUCKETS_S)
        self.request_decode_time = Histogram(TIME_BUCKETS_S)
        self.request_handoff_time = Histogram(TIME_BUCKETS_S)  # from a prefill worker to a decode worker
        self.iteration_tokens = Histogram(SIZE_BUCKETS)  # prompt tokens and decode steps
        self.batch_size = Histogram(SIZE_BUCKETS)  # sequences


class Observations:
    """All that one engine counts: the policy and the model know of no metrics.

    Written by the engine's thread, once an iteration and once a sequence that ends; `totals` may be read by others, the
    last iteration in part.
    """

    def __init__(self) -> None:
        self.counters = Counters()
        self.sums = IterationSums()
        self.histograms = EngineHistograms()
        self.live: Any = None  # a worker.live.LiveLog, while somebody watches; set by the heartbeat's thread
        self._committed_s = 0.0
        self._deferred_id = ""

    @property
    def generated_tokens(self) -> int:
        """One for each prompt that was read and each decode step."""
        return self.counters.prefills + self.sums.d

    def note_iteration(self, plan: StepPlan, policy: ContinuousBatching, planned_s: float, now: float) -> None:
        """Count an iteration that was planned at `planned_s` and ended now."""
        # A decoding sequence has run without a break since the last commit: the time between is part of its latency.
        seconds = now - (self._committed_s if plan.decodes else planned_s)
        self._committed_s = now
        counters, histograms = self.counters, self.histograms
        num_prefills, num_decodes = len(plan.prefills), len(plan.decodes)
        prompt_tokens = sum([len(sequence.request.prompt_ids) for sequence in plan.prefills])
        counters.prefill_iterations += num_prefills > 0
        counters.prefills += num_prefills
        counters.decode_iterations += num_decodes > 0
        self.sums.add_iteration(prompt_tokens, num_decodes, seconds)
        if num_decodes:
            histograms.inter_token_latency.observe(seconds, num_decodes)
        histograms.iteration_tokens.observe(prompt_tokens + num_decodes)
        histograms.batch_size.observe(num_prefills + num_decodes)
        for sequence in plan.prefills:
            histograms.request_queue_time.observe(sequence.queue_s)
            histograms.request_prefill_time.observe(now - sequence.admitted_s)
            histograms.time_to_first_token.observe(sequence.queue_s + now - sequence.admitted_s)
        if (live := self.live) is not None:
            live.note(plan, policy)
        self.note_deferred(plan.deferred_id)

    def note_deferred(self, request_id: str) -> None:
        """Count a request that is first in line and does not fit, once."""
        if request_id and request_id != self._deferred_id:
            self.counters.deferred_for_budget += 1
            self._deferred_id = request_id

    def completion(self, sequence: Delivery, reason: FinishReason, now: float) -> Completion:
        """The completion of a sequence that ended; counts it, unless it was cancelled."""
        first_token_s = sequence.first_token_s if sequence.output_ids else now
        timings = Timings(sequence.queue_s, first_token_s - sequence.admitted_s, now - first_token_s)
        if reason in (FinishReason.STOP, FinishReason.LENGTH):
            self.histograms.request_decode_time.observe(timings.decode_s)
            self.sums.add_request(sequence.request, len(sequence.output_ids), timings.queue_s)
        return Completion(sequence.request_id, reason, tuple(sequence.output_ids), timings)

    def summary(self) -> dict[str, float]:
        """All counts and the mean batches, for the log."""
        counters, sums = self.counters, self.sums
        return {
            "iterations": sums.n,
            "prompt_tokens": sums.p,
            "decode_steps": sums.d,
            **asdict(counters),
            "mean_prefill_batch": round(counters.prefills / max(1, counters.prefill_iterations), 2),
            "mean_decode_batch": round(sums.d / max(1, counters.decode_iterations), 2),
        }

    def totals(self) -> dict[str, float]:
        """Return the sums by field, for Redis."""
        found: dict[str, float] = {
            "prompt_tokens": self.sums.p,
            "generation_tokens": self.generated_tokens,
            "deferred_for_budget": self.counters.deferred_for_budget,
        }
        for name, histogram in vars(self.histograms).items():
            found |= histogram.totals(name)
        return found | {f"{ITERATIONS}:{name}": value for name, value in asdict(self.sums).items()}
