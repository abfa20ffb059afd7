"""The numbers of `miniserve top`: from two readings, without a server, a screen or a clock."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ops.observe.picture import Frame
from ops.observe.scrape import Scrape, parse
from ops.observe.snapshot import Snapshot, snapshot
from ops.observe.top import WINDOW_S, Watch
from scheduler.settings import Settings
from tests.metrics_text import metrics_text

DOCS = Path(__file__).resolve().parents[2] / "docs"
SETTINGS = Settings()
NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def reading(at_s: float, **about: Any) -> Scrape:
    return parse(metrics_text(at_s, **about), at_s)


def window(**about: Any) -> Snapshot:
    return snapshot(reading(100.0), reading(110.0, **about), SETTINGS)


def test_rates_are_differences_of_counters_by_the_time_between() -> None:
    rates = window().rates

    assert (rates["arrivals_per_s"], rates["done_per_s"], rates["failed_per_s"]) == (238, 230, 0)
    assert rates["tokens_per_s"] == 5400
    assert rates["refused_per_s"] == pytest.approx(15)
    assert rates["refused_by_type"] == pytest.approx({"queue-full": 12, "not-ready": 3})
    assert rates["failed_by_type"] == {}


def test_counters_that_began_anew_give_what_they_count_since() -> None:
    earlier, later = parse(metrics_text(50), 100.0), parse(metrics_text(5), 110.0)

    rates = snapshot(earlier, later, SETTINGS).rates

    assert rates["arrivals_per_s"] == pytest.approx(238 * 5 / 10)


def test_percentiles_are_of_the_window_and_lie_within_their_bucket_by_its_share() -> None:
    """Of 1,000 values 500 are up to 50 ms, 990 up to 100 ms, all up to 200 ms."""
    ttft = window().latency["ttft"]

    assert (ttft.count, ttft.mean_s) == (1000, pytest.approx(0.06))
    assert ttft.p50_s == pytest.approx(0.05)
    assert ttft.p95_s == pytest.approx(0.05 + 0.05 * (950 - 500) / (990 - 500))
    assert ttft.p99_s == pytest.approx(0.1)


def test_gauges_are_those_of_the_later_reading() -> None:
    view = snapshot(reading(100.0, queue_depth=3), reading(110.0, queue_depth=7), SETTINGS)

    assert view.queue["depth"] == 7
    assert (view.api_replicas, view.capacity["workers_live"], view.capacity["workers_needed"]) == (3, 2, 2)
    assert view.law["number_in_system"] == pytest.approx(
        view.law["arrival_rate_per_s"] * view.law["time_in_system_s"], rel=0.01
    )


def test_each_live_worker_has_its_row_by_name() -> None:
    workers = window(num_workers=12).workers

    assert [worker["name"] for worker in workers] == sorted(f"worker-{number}" for number in range(12))
    assert (workers[1]["running"], workers[1]["slots"], workers[1]["kv_tokens"]) == (20, 256, 1500)
    assert workers[1]["tokens_per_s"] == 4101


def test_a_single_reading_has_gauges_but_no_rates_and_no_percentiles() -> None:
    alone = reading(100.0)

    view = snapshot(alone, alone, SETTINGS)

    assert view.queue["waiting"] == 15
    assert view.rates["arrivals_per_s"] is None
    assert (view.latency["e2e"].count, view.latency["e2e"].p99_s) == (0, None)


def test_a_calm_system_has_no_alerts_nor_one_that_keeps_its_longer_goal() -> None:
    early, late = reading(100.0), reading(110.0, predicted_wait_seconds=0.7)

    assert window().alerts == ()
    assert snapshot(early, late, Settings(slo_ms=1000)).alerts == ()


def test_a_system_without_workers_or_with_new_dead_letters_is_alarming() -> None:
    early = reading(100.0, dead_letters=4)

    late = reading(110.0, dead_letters=6, num_workers=0)

    alerts = {one.name: one.value for one in snapshot(early, late, SETTINGS).alerts}
    assert alerts == {"no-live-worker": 1, "dead-letters-growing": 2}


def test_little_s_law_is_judged_only_of_a_steady_load() -> None:
    """Of the 238 a second that come 230 end."""
    early, late = reading(100.0), reading(110.0, littles_law_residual=0.4)
    fewer_ended = parse(_without_the_ends_of_the_window(110.0), 110.0)

    assert [one.name for one in snapshot(early, late, SETTINGS).alerts] == ["littles-law-broken"]
    assert snapshot(early, fewer_ended, SETTINGS).alerts == ()


def _without_the_ends_of_the_window(at_s: float) -> str:
    text = metrics_text(at_s, littles_law_residual=0.4)
    return text.replace(f'{{finished_reason="stop"}} {230 * at_s}', '{finished_reason="stop"} 23000')


def test_a_server_that_does_not_tell_its_workers_raises_no_alarm() -> None:
    assert window(without="workers").alerts == ()


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
    watch = Watch(Frame("http://h", 1.0), SETTINGS)
    for second in seconds:
        watch.add(reading(float(second)), NOON)

    assert watch.frame.snapshot.window_s == window_s


def test_a_server_that_goes_away_leaves_its_last_values_and_since_when_until_it_comes_back() -> None:
    watch = Watch(Frame("http://h", 1.0), SETTINGS)
    watch.add(reading(100.0), NOON)
    watch.miss("no route", NOON + timedelta(seconds=1))
    watch.miss("refused", NOON + timedelta(seconds=2))
    away = watch.frame
    watch.add(reading(103.0), NOON + timedelta(seconds=3))

    assert (away.read_at, away.away_since, away.why) == (NOON, NOON + timedelta(seconds=1), "refused")
    assert away.snapshot.queue["waiting"] == 15
    assert (watch.frame.away_since, watch.frame.why) == (None, "")
    assert watch.frame.read_at == NOON + timedelta(seconds=3)
