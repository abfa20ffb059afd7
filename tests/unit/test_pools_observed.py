"""What two pools count and show of a request that both had a part of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler.capacity.fleet import Fleet, Shape
from scheduler.capacity.measure import measure, measure_pools
from scheduler.capacity.observed import WorkerFacts
from scheduler.messages import CorrectionRequest
from scheduler.settings import Settings
from tests.unit.small_model import Clock, answers, request
from tests.unit.test_capacity import observed
from tests.unit.two_engines import decode, handed_over, prefill, read
from worker.live import LiveLog
from worker.pools.prefill import ReadPrompt

WORKER = WorkerFacts("worker", kv_budget_tokens=4096, max_slots=256)
SHAPE = Shape(18, 5, 50, 0.003, 5e-5)
SETTINGS = Settings()


def prompts_of(requests: list[CorrectionRequest], clock: Clock) -> list[ReadPrompt]:
    return read(requests, prefill(clock))[1]


def test_the_way_is_counted_once_for_each_sequence_and_a_rest_is_no_gap_between_tokens() -> None:
    clock = Clock(100.0)
    requests = [request("a", 10, 3), request("b", 12, 3)]
    deliveries = handed_over(requests, prompts_of(requests, clock))
    writer = decode(clock)
    for delivery in deliveries:
        clock.now_s += 1000.0  # with nothing to do
        writer.accept(replace(delivery, waited_s=0.25))
        answers(writer)

    histograms = writer.observations.histograms

    assert histograms.request_handoff_time.sum == pytest.approx(0.5)
    assert sum(histograms.request_handoff_time.counts) == 2
    assert histograms.inter_token_latency.sum == pytest.approx(0.0)
    assert writer.observations.sums.t == pytest.approx(0.0)


def test_a_decode_worker_shows_a_request_from_its_second_token_on() -> None:
    clock = Clock(100.0)
    requests = [request("a", 10, 4)]
    writer = decode(clock)
    writer.observations.live = LiveLog()
    for delivery in handed_over(requests, prompts_of(requests, clock)):
        writer.accept(replace(delivery, waited_s=0.5))

    writer.step()
    writer.step()
    document = writer.observations.live.take("w", 4)

    assert '"iterations":[[0,[],[0],[]],[0,[],[0],' in document


def fleet(**numbers: int) -> Fleet:
    return Fleet(SHAPE, [replace(WORKER, role=role) for role, number in numbers.items() for _ in range(number)])


def test_of_two_pools_the_slower_one_is_the_rate_of_both() -> None:
    prefill_per_s = 81 / (0.003 + 81 * 18 * 5e-5)  # 4096 / 50 at once
    decode_per_s = 81 / 4 / (0.003 + 81 * 1e-4)

    assert fleet(prefill=1).requests_per_s == 0.0
    assert fleet(prefill=1, decode=1).rates() == pytest.approx({"prefill": prefill_per_s, "decode": decode_per_s})
    assert fleet(prefill=2, decode=1).requests_per_s == pytest.approx(min(2 * prefill_per_s, decode_per_s))
    assert fleet(prefill=1, decode=9).requests_per_s == pytest.approx(min(prefill_per_s, 9 * decode_per_s))
    assert fleet(all=1, prefill=1, decode=1).requests_per_s == pytest.approx(
        fleet(all=1).requests_per_s + min(prefill_per_s, decode_per_s)
    )


def test_each_pool_says_how_many_workers_keep_it_within_its_limit() -> None:
    workers = tuple(replace(WORKER, name=role, role=role) for role in ("prefill", "decode"))
    seen = observed(workers=workers)

    found = {pool.role: pool for pool in measure_pools(seen)}

    assert set(found) == {"prefill", "decode"}
    for pool in found.values():
        assert pool.num_workers == 1
        assert (pool.workers_needed - 1) * 0.8 < pool.utilization <= pool.workers_needed * 0.8
    assert measure(seen, SETTINGS).workers_needed == 2
    assert measure_pools(observed()) == []


def test_beside_workers_that_do_all_a_pool_is_asked_for_its_part_of_the_load_alone() -> None:
    pools = tuple(replace(WORKER, name=role, role=role) for role in ("prefill", "decode"))
    whole = tuple(replace(WORKER, name=f"all {number}") for number in range(9))

    alone, beside = (measure_pools(observed(workers=each)) for each in (pools, pools + whole))

    assert all(one.utilization < 0.3 * other.utilization for one, other in zip(beside, alone, strict=True))


def test_one_pool_without_the_other_serves_nobody() -> None:
    alone = observed(workers=(replace(WORKER, role="prefill"),), num_waiting=3)

    found = measure(alone, SETTINGS)

    assert (found.service_rate_tokens_per_s, found.utilization) == (0.0, 1.0)
    assert found.predicted_wait_s == SETTINGS.request_timeout_s
