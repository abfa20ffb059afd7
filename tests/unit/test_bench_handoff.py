"""The experiment about handing a prompt over, with small weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.bench import handoff
from ops.bench.experiment import Plan


def test_every_width_and_length_is_measured_and_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(handoff, "WIDTHS", (64, 128))
    monkeypatch.setattr(handoff, "LENGTHS", (4, 16))

    rows = handoff.measure(Plan(num_runs=1, scale=0.1))
    (drawn,) = handoff.draw(rows, tmp_path)

    assert [(row["width"], row["tokens"]) for row in rows] == [(64, 4), (64, 16), (128, 4), (128, 16)]
    assert all(row["bytes"] > 4 * 4 * row["tokens"] * 2 * row["width"] for row in rows)
    assert all(row["hop_us"] > 0 and row["prefill_us"] > 0 for row in rows)
    assert len(handoff.summary(rows)) == 5
    assert drawn.read_bytes().startswith(b"\x89PNG")
