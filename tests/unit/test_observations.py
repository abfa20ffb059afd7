"""What an engine counts of its own work: every iteration, every request, each once."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from math import inf

import pytest

from scheduler.messages import Delivery
from scheduler.observations import SIZE_BUCKETS, TIME_BUCKETS_S, Histogram, Observations
from tests.unit.test_continuous_batching import ContinuousWorkload
from tests.workload import Iteration


def seen_by(histogram: Histogram) -> dict[float, int]:
    """Its counts by upper bound, without the empty ones."""
    ends = [*histogram.bounds, inf]
    return {end: count for end, count in zip(ends, histogram.counts, strict=True) if count}


def prompt_tokens(some: list[Delivery]) -> list[int]:
    return [len(each.request.prompt_ids) for each in some]


def seconds_of(log: list[Iteration]) -> list[float]:
    """Where something decodes, since the commit before; else since its plan: idle time is of no iteration."""
    begins = [one.planned_s for one in log[:1]] + [
        before.ended_s if one.plan.decodes else one.planned_s for before, one in zip(log, log[1:], strict=False)
    ]
    return [one.ended_s - begin_s for one, begin_s in zip(log, begins, strict=True)]


@pytest.mark.parametrize("seed", range(20))
def test_sums_counters_and_histograms_are_those_of_the_log_of_a_random_workload(seed: int) -> None:
    workload = ContinuousWorkload(seed)
    workload.run()
    log, seen = workload.log, workload.observations
    read = [prompt_tokens(list(one.plan.prefills)) for one in log]
    decodes, seconds = [len(one.plan.decodes) for one in log], seconds_of(log)
    work = [sum(prompts) + 2 * num for prompts, num in zip(read, decodes, strict=True)]
    ended = [answer for one in log for answer in one.answers]
    asked = [workload.arrived[answer.request_id] for answer in ended]
    begun = [(workload.arrived[name], *times) for name, times in workload.begun.items()]
    queue_s = [one.waited_s + planned_s - one.submitted_s for one, planned_s, _ in begun]
    prefill_s = [first_s - planned_s for _, planned_s, first_s in begun]
    values = {
        "iteration_tokens": [sum(prompts) + num for prompts, num in zip(read, decodes, strict=True)],
        "batch_size": [len(prompts) + num for prompts, num in zip(read, decodes, strict=True)],
        "inter_token_latency": [each for each, num in zip(seconds, decodes, strict=True) for _ in range(num)],
        "request_queue_time": queue_s,
        "request_prefill_time": prefill_s,
        "time_to_first_token": [one + other for one, other in zip(queue_s, prefill_s, strict=True)],
        "request_decode_time": [answer.timings.decode_s for answer in ended],
        "request_handoff_time": [],
    }
    sums = {
        "n": len(log), "t": sum(seconds), "tt": sum(each**2 for each in seconds), "p": sum(map(sum, read)),
        "d": sum(decodes), "work": sum(work), "work2": sum(each**2 for each in work),
        "work_t": sum(each * took for each, took in zip(work, seconds, strict=True)), "requests": len(ended),
        "prompts": sum(prompt_tokens(asked)), "outputs": sum(len(answer.output_ids) for answer in ended),
        "reserved": workload.tokens_of(answer.request_id for answer in ended),
        "queue_s": sum(answer.timings.queue_s for answer in ended),
    }  # fmt: skip
    counts = {
        "prefill_iterations": len([one for one in read if one]), "prefills": sum(map(len, read)),
        "decode_iterations": len([num for num in decodes if num]), "deferred_for_budget": len(workload.deferred),
    }  # fmt: skip

    totals = seen.totals()

    assert {name: value for name, value in totals.items() if name.startswith("iteration:")} == pytest.approx(
        {f"iteration:{name}": value for name, value in sums.items()}
    )
    assert seen.summary() == {
        "iterations": sums["n"], "prompt_tokens": sums["p"], "decode_steps": sums["d"], **counts,
        "mean_prefill_batch": round(counts["prefills"] / counts["prefill_iterations"], 2),
        "mean_decode_batch": round(sums["d"] / max(1, counts["decode_iterations"]), 2),
    }  # fmt: skip
    assert (totals["prompt_tokens"], totals["generation_tokens"]) == (sums["p"], counts["prefills"] + sums["d"])
    assert totals["deferred_for_budget"] == counts["deferred_for_budget"]
    assert vars(seen.histograms).keys() == values.keys()
    for name, some in values.items():
        histogram = getattr(seen.histograms, name)
        expected = Counter(next((bound for bound in histogram.bounds if each <= bound), inf) for each in some)
        assert (seen_by(histogram), histogram.sum) == (expected, pytest.approx(sum(some))), name
        assert [totals[f"{name}:{at}"] for at in range(len(histogram.counts))] == histogram.counts
        assert totals[f"{name}:sum"] == histogram.sum
    assert all(type(value) in (int, float) for value in totals.values())


def test_an_engine_that_has_done_nothing_has_a_summary() -> None:
    assert set(Observations().summary().values()) == {0}


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_the_size_of_a_batch_reads_right_from_its_histogram(share: float) -> None:
    def read(size: int) -> float:
        """As Prometheus: the values of a bucket count as spread over it."""
        at = bisect_left(SIZE_BUCKETS, size)
        low = SIZE_BUCKETS[at - 1] if at else 0.0
        return low + share * (SIZE_BUCKETS[at] - low)

    assert TIME_BUCKETS_S[12] == 0.1
    assert read(1) == pytest.approx(1, rel=0.25)
    assert share > 0.5 or all(read(size) == pytest.approx(size, rel=0.25) for size in range(1, 513))
