"""What an engine counts of its own work: every iteration, every request, each once."""

from __future__ import annotations

import random
from bisect import bisect_left

import pytest

from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.messages import EOS_ID, CorrectionRequest, Delivery
from scheduler.observations import SIZE_BUCKETS, TIME_BUCKETS_S, Histogram
from tests.observed_policy import ObservedPolicy
from tests.unit.small_model import an_engine, request

WORD = 7


def a_policy() -> ObservedPolicy:
    return ObservedPolicy(ContinuousBatching(BatchLimits(kv_budget_tokens=200, max_slots=8, max_iteration_tokens=200)))


def a_delivery(name: str, prompt_tokens: int = 4, max_output: int = 6, waited_s: float = 0.0) -> Delivery:
    ids = (WORD,) * prompt_tokens
    return Delivery(CorrectionRequest(name, ids, (0,) * prompt_tokens, max_output, "t"), 1, waited_s)


def iterate(policy: ObservedPolicy, at_s: float, took_s: float, *tokens: int) -> None:
    """One iteration, begun at one time, over at another."""
    policy.commit(policy.plan(at_s), tokens, at_s + took_s)


def seen_by(histogram: Histogram) -> dict[float, int]:
    """Its counts by upper bound, without the empty ones."""
    ends = [*histogram.bounds, float("inf")]
    return {end: count for end, count in zip(ends, histogram.counts, strict=True) if count}


def test_a_value_on_a_bound_is_counted_in_the_bucket_that_ends_there() -> None:
    histogram = Histogram((1, 2, 4))

    for value in (0, 1, 1.01, 2, 4, 4.01, 1000):
        histogram.observe(value)
    histogram.observe(1.5, times=3)

    assert histogram.totals("x") == {"x:0": 2, "x:1": 5, "x:2": 1, "x:3": 2, "x:sum": pytest.approx(1016.52)}


def test_the_most_that_ran_at_once_counts_those_that_end_with_their_first_token() -> None:
    engine = an_engine()
    for name in "abcde":
        engine.accept(Delivery(request(name, max_output=1), 1, 0.0))

    ended = engine.step()

    assert (len(ended), engine.observations.counters.peak_running) == (5, 5)


def test_the_first_iteration_counts_from_its_plan_and_those_after_it_from_the_commit_before() -> None:
    policy = a_policy()
    policy.submit(a_delivery("a"), now=10.0)

    iterate(policy, 10.0, 0.5, WORD)
    iterate(policy, 10.7, 0.1, EOS_ID)  # 0.2 s of exchange with the queue lie between
    policy.submit(a_delivery("b"), now=100.0)
    iterate(policy, 100.0, 0.2, EOS_ID)  # the idle time before it is of no iteration

    sums = policy.observations.sums
    assert (sums.n, sums.t, sums.tt) == (3, pytest.approx(0.5 + 0.3 + 0.2), pytest.approx(0.25 + 0.09 + 0.04))
    assert policy.observations.histograms.inter_token_latency.sum == pytest.approx(0.3)


def test_an_iteration_counts_its_prompt_tokens_and_its_decode_steps() -> None:
    policy = a_policy()
    policy.submit(a_delivery("a", prompt_tokens=5), now=0.0)
    iterate(policy, 0.0, 1.0, WORD)
    policy.submit(a_delivery("b", prompt_tokens=3), now=1.0)
    iterate(policy, 1.0, 1.0, WORD, WORD)  # b is read while a decodes
    iterate(policy, 2.0, 1.0, WORD, WORD)

    sums, histograms = policy.observations.sums, policy.observations.histograms
    assert (sums.n, sums.p, sums.d, sums.work, sums.work2) == (3, 8, 3, 14, 66)
    assert policy.observations.summary()["prompt_tokens"] == 8
    assert policy.observations.generated_tokens == 5
    assert seen_by(histograms.iteration_tokens) == {6.5: 1, 4.5: 1, 2.25: 1}  # 5, 3 + 1, 2
    assert seen_by(histograms.batch_size) == {1.25: 1, 2.25: 2}


def test_each_sequence_that_decodes_has_an_inter_token_latency_of_its_own() -> None:
    policy = a_policy()
    for name in "abc":
        policy.submit(a_delivery(name), now=0.0)
    iterate(policy, 0.0, 0.004, WORD, WORD, WORD)

    iterate(policy, 0.010, 0.010, WORD, WORD, WORD)  # since the first commit: 16 ms

    latency = policy.observations.histograms.inter_token_latency
    assert seen_by(latency) == {0.02: 3}
    assert latency.sum == pytest.approx(3 * 0.016)


def test_the_gaps_between_tokens_add_up_to_the_decode_times() -> None:
    policy = a_policy()
    rng, now = random.Random(3), 0.0
    for number in range(40):
        policy.submit(a_delivery(f"r{number}", max_output=rng.randint(1, 9)), now)
    while policy.has_work:
        now += rng.random() / 10
        plan = policy.plan(now)
        now += rng.random() / 10
        policy.commit(plan, [WORD] * len(list(plan)), now)

    histograms, sums = policy.observations.histograms, policy.observations.sums
    assert sum(histograms.request_decode_time.counts) == 40
    assert (sums.requests, sums.prompts, sums.reserved) == (40, 40 * 4, 40 * 4 + sums.outputs)
    assert histograms.inter_token_latency.sum == pytest.approx(histograms.request_decode_time.sum)
    assert policy.observations.generated_tokens == sums.outputs


def test_the_first_token_comes_after_the_queue_and_the_prefill() -> None:
    policy = a_policy()
    policy.submit(a_delivery("a", waited_s=0.4), now=5.0)

    iterate(policy, 5.1, 0.2, WORD)

    histograms = policy.observations.histograms
    assert histograms.request_queue_time.sum == pytest.approx(0.5)
    assert histograms.request_prefill_time.sum == pytest.approx(0.2)
    assert histograms.time_to_first_token.sum == pytest.approx(0.7)
    assert seen_by(histograms.time_to_first_token) == {0.75: 1}


def test_only_what_comes_to_its_own_end_counts_as_a_request() -> None:
    policy = a_policy()
    policy.submit(a_delivery("done", prompt_tokens=4, max_output=6), now=0.0)
    policy.submit(a_delivery("left"), now=0.0)
    iterate(policy, 0.0, 1.0, WORD, WORD)

    policy.cancel("left")
    iterate(policy, 1.0, 1.0, WORD)
    iterate(policy, 2.0, 1.0, EOS_ID)

    sums = policy.observations.sums
    assert (sums.requests, sums.prompts, sums.outputs, sums.reserved) == (1, 4, 3, 10)
    assert seen_by(policy.observations.histograms.request_decode_time) == {2.0: 1}
    assert sum(policy.observations.histograms.time_to_first_token.counts) == 2


def test_totals_hold_every_histogram_and_every_sum_and_are_numbers() -> None:
    policy = a_policy()
    policy.submit(a_delivery("a"), now=0.0)
    iterate(policy, 0.0, 0.1, EOS_ID)

    totals = policy.observations.totals()

    for name in vars(policy.observations.histograms):
        assert f"{name}:sum" in totals
        assert f"{name}:0" in totals
    assert totals["prompt_tokens"] == totals["iteration:p"] == 4
    assert totals["generation_tokens"] == totals["iteration:n"] == totals["iteration:requests"] == 1
    assert totals["request_queue_time:0"] == 1  # of nothing: it is in the first bucket
    assert totals["request_prefill_time:12"] == 1
    assert TIME_BUCKETS_S[12] == 0.1
    assert all(type(value) in (int, float) for value in totals.values())


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_the_size_of_a_batch_reads_right_from_its_histogram(share: float) -> None:
    def read(size: int) -> float:
        """As Prometheus: the values of a bucket count as spread over it."""
        at = bisect_left(SIZE_BUCKETS, size)
        low = SIZE_BUCKETS[at - 1] if at else 0.0
        return low + share * (SIZE_BUCKETS[at] - low)

    assert read(1) == pytest.approx(1, rel=0.25)
    assert share > 0.5 or all(read(size) == pytest.approx(size, rel=0.25) for size in range(1, 513))
