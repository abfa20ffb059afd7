"""The experiment about long texts, in a fraction of its time."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.bench import stalls
from ops.bench.experiment import Plan


def test_every_case_is_measured_at_every_rate_and_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(stalls, "_EVERY_S", 0.05)

    rows = stalls.measure(Plan(num_runs=1, scale=0.04))
    (drawn,) = stalls.draw(rows, tmp_path)

    assert [(row["rate"], row["case"]) for row in rows] == [
        (rate, case) for rate in stalls.RATES_PER_S for case in stalls.CASES
    ]
    assert all(row["gaps"] > 0 and row["p99_ms"] <= row["max_ms"] for row in rows)
    assert [row["text_ms"] > 0 for row in rows] == [case != "undisturbed" for _ in range(2) for case in stalls.CASES]
    assert len(stalls.summary(rows)) == 10
    assert drawn.read_bytes().startswith(b"\x89PNG")
