"""Sentences that state a figure state the one of the data beside it."""

from __future__ import annotations

import re
from pathlib import Path

from ops.bench import occupancy
from ops.bench.experiment import read_rows

ROOT = Path(__file__).resolve().parents[2]
DATA = sorted((ROOT / "docs" / "benchmarks").glob("*-occupancy"))[-1]
PAGES = {"docs/tour.md": 0, "docs/benchmarks.md": 1}  # with so many decimals


def test_the_pages_say_of_the_occupancy_what_its_data_say() -> None:
    """Other weights give other answers: `miniserve bench occupancy --out docs/benchmarks` draws it again."""
    rows = read_rows(DATA / occupancy.CSV)
    iterations = [occupancy.num_iterations(rows, policy) for policy in ("fixed length", "static", "continuous")]
    shares = occupancy.shares(rows)
    num_sentences = len({row["number"] for row in rows if row["policy"] == "continuous" and row["state"] == "token"})
    counts = [f"{num_sentences} sentences", *(f"{number:,.0f}" for number in iterations)]
    losses = [100 * shares["fixed length"]["waste"], 100 * shares["static"]["idle"]]

    missing = {
        page: [fact for fact in [*counts, *(f"{loss:.{decimals}f} %" for loss in losses)] if fact not in _text(page)]
        for page, decimals in PAGES.items()
    }

    assert missing == dict.fromkeys(PAGES, [])


def test_the_picture_of_the_readme_and_of_the_tour_is_the_newest() -> None:
    for page in ("README.md", *PAGES):
        assert f"{DATA.name}/occupancy.png" in _text(page)


def _text(page: str) -> str:
    return re.sub(r"\s+", " ", (ROOT / page).read_text(encoding="utf-8"))
