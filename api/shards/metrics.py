"""The part of GET /metrics that only a system of several shards has: each of them by itself, under its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from api.observe.metrics import goals_of
from scheduler.capacity.measure import Capacity, measure
from scheduler.capacity.observed import Observed
from scheduler.settings import Settings

_PREFIX = "miniserve_shard_"
_UP = "1 if the Redis of this shard answers, else 0."
_OBSERVED: dict[str, tuple[str, Callable[[Observed], float]]] = {
    "workers": ("Live workers of this shard.", lambda seen: len(seen.workers)),
    "reserved_tokens": ("Tokens reserved by all it has accepted.", lambda seen: seen.reserved_tokens),
    "redis_memory_ratio": ("Share of its Redis' memory that is used; of a gibibyte where that has no limit.",
                           lambda seen: seen.redis_memory_bytes / (seen.redis_max_memory_bytes or 1 << 30)),
    "queue_depth": ("Sentences in its Redis list.", lambda seen: seen.queue_depth),
}  # fmt: skip
_CAPACITY: dict[str, tuple[str, Callable[[Capacity], float]]] = {
    "arrival_rate": ("Sentences it accepts per second.", lambda found: found.arrival_rate_per_s),
    "utilization": ("Its utilization.", lambda found: found.utilization),
    "predicted_wait_seconds": (
        "Queue time of a sentence that arrives now.", lambda found: found.predicted_wait_s
    ),
    "workers_needed": ("Workers that keep its wait under the SLO.", lambda found: found.workers_needed),
}  # fmt: skip


def shard_metrics(looks: Mapping[str, Observed | None], settings: Settings) -> bytes:
    """`looks`: by place; None where a shard does not answer."""
    return generate_latest(_Registry(looks, settings))


class _Registry:
    def __init__(self, looks: Mapping[str, Observed | None], settings: Settings) -> None:
        self._looks, self._settings = looks, settings

    def collect(self) -> Iterable[Metric]:
        up = GaugeMetricFamily(_PREFIX + "up", _UP, labels=["shard"])
        for place, seen in self._looks.items():
            up.add_metric([place], float(seen is not None))
        yield up
        seen_at = {place: seen for place, seen in self._looks.items() if seen is not None}
        found_at = {place: measure(seen, goals_of(self._settings)) for place, seen in seen_at.items()}
        for name, (help, of_seen) in _OBSERVED.items():
            yield _family(name, help, {place: of_seen(seen) for place, seen in seen_at.items()})
        for name, (help, of_found) in _CAPACITY.items():
            yield _family(name, help, {place: of_found(found) for place, found in found_at.items()})


def _family(name: str, help: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(_PREFIX + name, help, labels=["shard"])
    for place, value in values.items():
        family.add_metric([place], value)
    return family
