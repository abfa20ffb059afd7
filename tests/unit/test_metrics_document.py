"""docs/metrics.md has a row for every metric, with the words of its help text."""

from __future__ import annotations

from pathlib import Path

from api.observe.metrics import metrics_text
from scheduler.capacity.observed import Moment, Observed
from scheduler.settings import Settings
from tests.exposed_metrics import families_of

ROWS = (Path(__file__).resolve().parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8").splitlines()


def test_the_table_of_metrics_equals_the_metrics() -> None:
    families = families_of(metrics_text(Observed(now=Moment(at_s=1.0)), Settings())).values()
    expected = {
        (f"`{family.name}{'_total' if family.type == 'counter' else ''}`", family.type, family.documentation)
        for family in families
    }

    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in ROWS if row.startswith("| `")]

    assert {(name, kind, meaning) for name, kind, _, meaning in cells} == expected
