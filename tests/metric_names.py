"""The series of GET /metrics, as the code tells them: what dashboards, rules and documents may name."""

from __future__ import annotations

from tests.exposed_metrics import exposed_names

SERIES = exposed_names()
