"""The numbers and the screen of `miniserve top`, without a server. tests/tables/drawings.txt shows both."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ops.observe import words
from ops.observe.picture import Frame, picture
from ops.observe.scrape import Scrape, parse
from ops.observe.snapshot import Snapshot, snapshot
from ops.observe.top import WINDOW_S, Watch
from scheduler.settings import Settings
from tests.generate.drawings import NOON, frame, lines, window
from tests.metrics_text import metrics_text

DOCS = Path(__file__).resolve().parents[2] / "docs"
SETTINGS = Settings()


def reading(at_s: float, **about: Any) -> Scrape:
    return parse(metrics_text(at_s, **about), at_s)


def test_counters_that_began_anew_give_what_they_count_since() -> None:
    earlier, later = parse(metrics_text(50), 100.0), parse(metrics_text(5), 110.0)

    rates = snapshot(earlier, later, SETTINGS).rates

    assert rates["arrivals_per_s"] == pytest.approx(238 * 5 / 10)


@pytest.mark.parametrize(("at_s", "count"), [(100.0, 0), (101.0, 100)])
def test_a_window_without_time_has_gauges_but_no_rates_and_no_percentiles(at_s: float, count: int) -> None:
    view = snapshot(reading(100.0), reading(at_s), SETTINGS)

    assert view.queue["waiting"] == 15
    assert (view.rates["arrivals_per_s"] is None, view.latency["e2e"].p99_s is None) == (not count, not count)
    assert view.latency["e2e"].count == count


@pytest.mark.parametrize(
    ("earlier", "later", "slo_ms", "alerts"),
    [
        ({}, {}, 500, {}),
        ({}, {"predicted_wait_seconds": 0.7}, 500, {"predicted-wait-long": 0.7}),
        ({}, {"predicted_wait_seconds": 0.7}, 1000, {}),
        ({"dead_letters": 4}, {"dead_letters": 6, "num_workers": 0}, 500,
         {"no-live-worker": 1, "dead-letters-growing": 2}),
        ({}, {"littles_law_residual": 0.4}, 500, {"littles-law-broken": 0.4}),
        ({}, {"without": "workers"}, 500, {}),  # no word of them is no alarm
    ],
)  # fmt: skip
def test_alerts_are_the_rules_that_hold_in_the_later_reading(
    earlier: dict[str, Any], later: dict[str, Any], slo_ms: int, alerts: dict[str, float]
) -> None:
    view = snapshot(reading(100.0, **earlier), reading(110.0, **later), Settings(slo_ms=slo_ms))

    assert {one.name: one.value for one in view.alerts} == alerts


def test_little_s_law_is_judged_only_of_a_steady_load() -> None:
    """Of the 238 a second that come none end."""
    text = metrics_text(110.0, littles_law_residual=0.4)
    none_ended = text.replace(f'{{finished_reason="stop"}} {230 * 110.0}', '{finished_reason="stop"} 23000')

    assert snapshot(reading(100.0), parse(none_ended, 110.0), SETTINGS).alerts == ()


def test_the_json_document_holds_no_infinity_and_no_nan() -> None:
    view = window(predicted_wait_seconds=float("inf"), littles_law_residual=float("nan"))

    told = json.loads(json.dumps(view.document(), allow_nan=False))

    assert told["capacity"]["predicted_wait_s"] is None and told["law"]["residual"] is None
    assert told["capacity"]["utilization"] == 0.73


def test_the_page_explains_every_key_of_the_document() -> None:
    page = (DOCS / "watch.md").read_text(encoding="utf-8")
    told = window(utilization=0.9).document()

    assert set(told) == {spec.name for spec in fields(Snapshot)}
    for key, value in told.items():
        inner = value[0] if key in ("workers", "alerts") else value["ttft"] if key == "latency" else value
        for name in [key, *(inner if isinstance(inner, dict) else ())]:
            assert re.search(rf"`{name}`", page), name


@pytest.mark.parametrize(("seconds", "window_s"), [(range(100, 131), WINDOW_S), ((100, 130, 160), 30.0)])
def test_the_window_reaches_ten_seconds_back_or_to_the_reading_before(seconds: Iterable[int], window_s: float) -> None:
    watch = Watch(Frame("http://h"), SETTINGS)
    for second in seconds:
        watch.add(reading(float(second)), NOON)

    assert watch.frame.snapshot.window_s == window_s


@pytest.mark.parametrize("width", [30, 76])
def test_no_line_is_wider_than_the_terminal_and_the_workers_come_last(width: int) -> None:
    shown = lines(frame(num_workers=40), width, 100)

    assert {len(line) for line in shown} == {width}
    assert "next waits" in "".join(shown).partition("workers 40")[0]


def test_the_picture_can_be_printed_where_the_terminal_knows_ascii_alone() -> None:
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding="ascii") as file:  # strict: a character it lacks would raise
        Console(file=file, width=80).print(picture(frame(), NOON, 80))
        file.flush()

        assert b"utilization" in raw.getvalue()


@pytest.mark.parametrize(
    ("value", "said"), [(float("nan"), "-"), (float("inf"), "no end"), (0.456, "456 ms"), (99.96, "1 m 40 s")]
)
def test_a_time_takes_as_few_characters_as_it_needs(value: float, said: str) -> None:
    assert words.seconds(value) == said
