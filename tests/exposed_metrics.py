"""What GET /metrics exposes, as queries name it: for tests of boards, rules and documents."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from api.observe.metrics import metrics_text
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.settings import Settings

# One of everything that has labels only where it occurs.
_TOTALS = {"http:/correct:200": 1, "key:school:200": 1, "key_tokens:school": 1}
_BUSY = Observed(now=Moment(at_s=1.0), workers=(WorkerFacts("w", role="prefill"),), totals=_TOTALS)


def families_of(text: bytes) -> dict[str, Metric]:
    """By name; that of a counter is without `_total`."""
    return {family.name: family for family in text_string_to_metric_families(text.decode())}


def exposed_families() -> Mapping[str, Metric]:
    """By name, in the order in which they are exposed."""
    return families_of(metrics_text(_BUSY, Settings()))


def exposed_labels() -> Mapping[str, frozenset[str]]:
    """Every series name that a query may hold (`..._total`, `..._bucket`, `..._sum`, `..._count`), and its labels."""
    return {
        sample.name: frozenset(sample.labels) for family in exposed_families().values() for sample in family.samples
    }


def exposed_names() -> frozenset[str]:
    return frozenset(exposed_labels())
