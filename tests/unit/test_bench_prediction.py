"""`bench plan` without its servers: predictions, errors, the figure; and the day's figure from its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.bench import prediction, simulated_day
from ops.plan.autoscaling import RULES
from tests.known_costs import COSTS, SENTENCES

PNG = b"\x89PNG"


@pytest.fixture(autouse=True)
def few_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "_LEAST_SIMULATED", 600)


def row(run: int, p50_ms: float, mix: str = "sentences") -> dict[str, object]:
    """Measured at 300 requests/s; the prediction is of two machines that are the same."""
    measured = {"run": run, "mix": mix, "rate_per_s": 300.0, "requests": 600, "not_ok": 0, "p50_ms": p50_ms,
                "p95_ms": 3 * p50_ms}  # fmt: skip
    return measured | prediction._predicted((COSTS, COSTS), SENTENCES, measured)


def test_the_prediction_is_the_mean_of_two_calibrations_and_the_error_is_relative() -> None:
    found = row(1, 4.0)

    assert found["p50_before_ms"] == found["p50_after_ms"] == found["p50_predicted_ms"]
    assert found["p50_error"] == pytest.approx(found["p50_predicted_ms"] / 4.0 - 1, abs=1e-3)


def test_the_summary_shows_every_run_and_the_median_errors_beside_their_bars(tmp_path: Path) -> None:
    rows = [row(1, 4.0), row(2, 5.0, "texts of 3")]

    lines = prediction.summary(rows)

    assert sum("texts of 3" in line or "sentences" in line for line in lines) == 2
    assert any("p95: median error" in line and "bar 20%" in line for line in lines)
    (path,) = prediction.draw(rows, tmp_path)
    assert path.read_bytes().startswith(PNG)


def test_the_figure_of_the_day_has_both_rules(tmp_path: Path) -> None:
    rows = [
        {"rule": rule, "hour": minute / 60, "offered": 600, "refused": minute % 3, "retried": 0, "answered": 600,
         "within": 590, "p95_s": 4.0, "workers": 8, "open": 30, "cpu_s": 40.0}
        for rule in RULES for minute in range(60)
    ]  # fmt: skip

    lines = simulated_day.summary(rows)

    assert all(any(rule in line for line in lines) for rule in RULES)
    (path,) = simulated_day.draw(rows, tmp_path)
    assert path.read_bytes().startswith(PNG)
