"""GET /metrics as Prometheus reads it: where each number comes from. Names, types and labels: docs/metrics.md."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

import pytest
from prometheus_client.metrics_core import Metric

from api.observe.metrics import metrics_text
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.observations import SIZE_BUCKETS, TIME_BUCKETS_S, Histogram
from scheduler.settings import Settings
from tests.exposed_metrics import exposed_families, families_of

EMPTY = Observed(now=Moment(at_s=1_700_000_000.0))
HISTOGRAMS = {name: family for name, family in exposed_families().items() if family.type == "histogram"}


def told(seen: Observed) -> dict[str, Metric]:
    return families_of(metrics_text(seen, Settings(max_queue_requests=2048)))


def value_of(families: dict[str, Metric], name: str, **labels: str) -> float:
    (found,) = [
        sample.value
        for family in families.values()
        for sample in family.samples
        if sample.name == f"miniserve_{name}" and sample.labels == labels
    ]
    return found


def test_what_was_observed_is_told_as_it_is_and_of_each_worker_by_itself() -> None:
    workers = (
        WorkerFacts("a-1", 3, 2, 90, 600, 16, tokens_per_s=12.5),
        WorkerFacts("b-2", 1, 0, 60, 400, 8, tokens_per_s=2.5),
    )
    seen = replace(
        EMPTY, workers=workers, num_api_replicas=3, queue_depth=4, num_waiting=6, num_running=5, reserved_tokens=700,
        oldest_waiting_s=1.5, oldest_running_s=2.5, dead_letters=2, redis_memory_bytes=1000,
        redis_max_memory_bytes=5000,
    )  # fmt: skip

    families = told(seen)

    expected = {
        "api_replicas": 3, "queue_depth": 4, "num_requests_waiting": 6, "num_requests_running": 5,
        "reserved_tokens": 700, "oldest_waiting_seconds": 1.5, "oldest_running_seconds": 2.5, "dead_letters": 2,
        "redis_memory_bytes": 1000, "redis_max_memory_bytes": 5000, "workers": 2, "kv_cache_usage_perc": 0.15,
        "max_queue_requests": 2048,
    }  # fmt: skip
    assert {name: value_of(families, name) for name in expected} == pytest.approx(expected)
    of_workers = {
        "running": (3, 1), "waiting": (2, 0), "slots": (16, 8), "kv_tokens": (90, 60), "kv_budget_tokens": (600, 400),
        "tokens_per_second": (12.5, 2.5),
    }  # fmt: skip
    for name, values in of_workers.items():
        assert tuple(value_of(families, f"worker_{name}", worker=worker.name) for worker in workers) == values


def test_ends_and_refusals_are_told_by_their_kind() -> None:
    counts = {
        "accepted": 100, "done": 80, "done_length": 7, "failed": 3, "cancelled": 4, "expired": 5, "removed": 6,
        "refused_full": 8, "refused_late": 9, "duplicates": 2,
    }  # fmt: skip

    totals = {"rejected:not-ready": 10, "rejected:shutting-down": 11, "rejected:queue-full": 20}  # 20 without asking

    families = told(replace(EMPTY, counts=counts, totals=totals))

    assert value_of(families, "requests_accepted_total") == 100
    assert value_of(families, "duplicate_answers_total") == 2
    done = {kind: value_of(families, "request_success_total", finished_reason=kind) for kind in ("stop", "length")}
    assert done == {"stop": 73, "length": 7}
    failed = {"request-failed": 3, "cancelled": 4, "deadline-exceeded": 5, "removed-by-operator": 6}
    assert {kind: value_of(families, "request_failure_total", type=kind) for kind in failed} == failed
    refused = {"queue-full": 28, "deadline-exceeded": 9, "not-ready": 10, "shutting-down": 11}
    assert {kind: value_of(families, "admission_rejections_total", type=kind) for kind in refused} == refused


@pytest.mark.parametrize("name", [name.removeprefix("miniserve_") for name in HISTOGRAMS])
def test_a_histogram_is_cumulative_and_ends_in_its_count(name: str) -> None:
    bounds = TIME_BUCKETS_S if name.endswith("_seconds") else SIZE_BUCKETS
    histogram = Histogram(bounds)
    for value in (bounds[0] / 2, bounds[0], bounds[3], 2 * bounds[-1]):
        histogram.observe(value)

    family = told(replace(EMPTY, totals=histogram.totals(name.removesuffix("_seconds"))))[f"miniserve_{name}"]

    buckets = {s.labels["le"]: s.value for s in family.samples if s.name.endswith("_bucket")}
    rest = {s.name.rsplit("_", 1)[1]: s.value for s in family.samples if not s.name.endswith("_bucket")}
    assert [float(end) for end in buckets] == [*bounds, float("inf")]
    assert list(buckets.values()) == [2, 2, 2] + [3] * (len(bounds) - 3) + [4]
    assert rest == {"count": 4, "sum": pytest.approx(1.5 * bounds[0] + bounds[3] + 2 * bounds[-1])}


def test_no_number_is_infinite_or_no_number_at_all() -> None:
    broken = replace(
        EMPTY,
        now=Moment(5.0, area_s=1e300, stay_s=-4.0, accepted=10, ended=10, iterations={"n": 0.0, "t": 1e300, "tt": -1}),
        history=(Moment(4.9999999), Moment(5.0), Moment(6.0, accepted=99)),
        workers=(WorkerFacts("w", 1, 1, 1, kv_budget_tokens=0, max_slots=0),),
        num_waiting=10**9,
    )

    for family in told(broken).values():
        assert [sample for sample in family.samples if not isfinite(sample.value) or sample.value < 0] == []
