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
