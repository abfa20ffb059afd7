"""The series of GET /metrics, as the code tells them: what dashboards, rules and documents may name."""

from __future__ import annotations

import re

from api.metrics import metrics_text
from scheduler.observed import Moment, Observed, WorkerFacts
from scheduler.settings import Settings


def _told() -> frozenset[str]:
    seen = Observed(now=Moment(at_s=0.0), workers=(WorkerFacts("worker"),))
    types = re.findall(r"^# TYPE (\S+) (\S+)$", metrics_text(seen, Settings()).decode(), re.MULTILINE)
    histograms = {name + part for name, kind in types if kind == "histogram" for part in ("_bucket", "_sum", "_count")}
    return frozenset({name for name, kind in types if kind != "histogram"} | histograms)


SERIES = _told()
