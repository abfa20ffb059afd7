"""The screen of `miniserve top`: what stands on it, in terminals of all sizes, with colours and without."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from ops.observe import words
from ops.observe.picture import Frame, picture
from ops.observe.scrape import parse
from ops.observe.snapshot import snapshot
from scheduler.settings import Settings
from tests.metrics_text import metrics_text

SETTINGS = Settings()
NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def frame(**about: Any) -> Frame:
    earlier, later = (parse(metrics_text(at_s, **about), at_s) for at_s in (100.0, 110.0))
    return Frame("http://far:8000", 1.0, snapshot(earlier, later, SETTINGS), NOON)


def drawn(shown: Frame, width: int = 80, height: int | None = None, now: datetime = NOON) -> list[str]:
    """The lines, blanks at their ends included."""
    console = Console(width=width, file=io.StringIO())
    options = console.options.update(height=height)
    lines = console.render_lines(picture(shown, now, width, "q quits"), options)
    return ["".join(segment.text for segment in line) for line in lines]


def text(*about: Any, **more: Any) -> str:
    return "\n".join(drawn(*about, **more))


def test_a_terminal_of_80_by_24_holds_everything() -> None:
    lines = drawn(frame(), 80, 24)
    shown = "\n".join(lines)

    assert len(lines) <= 24 and {len(line) for line in lines} == {80}
    for words_of_it in (
        "http://far:8000", "12:00:00 UTC", "q quits", "workers 2, API replicas 3", "20/256 +2", "1,500/4,096", "4,101",
        "waiting  15  oldest 412 ms", "56 of 2,048", "5,120 of 131,072", "arrivals 238/s", "tokens   5,400/s",
        "15.0/s  queue-full", "56.1, 238/s, 235 ms", "0.4% (L - lambda W)", "73%", "48.0 ms",
        "2 live, 2 needed", "95.9 ms", "no alerts",
    ):  # fmt: skip
        assert words_of_it in shown, words_of_it
    assert "…" not in shown


@pytest.mark.parametrize("width", [30, 60, 76, 100, 150, 300])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert {len(line) for line in drawn(frame(), width, 40)} == {width}


def test_where_the_lines_run_out_the_workers_are_cut_off() -> None:
    shown = "\n".join(drawn(frame(num_workers=40), 80)[:24])

    assert "workers 40" in shown and "worker-11" in shown and "worker-39" not in shown
    assert "next waits" in shown


def test_a_system_without_workers_says_so() -> None:
    assert "none lives" in text(frame(num_workers=0))


def test_a_server_that_is_away_is_named_above_its_last_values() -> None:
    away = Frame("http://far:8000", 1.0, frame().snapshot, NOON, NOON + timedelta(seconds=2), "connection refused")

    shown = text(away, now=NOON + timedelta(seconds=14))

    assert "NO NUMBERS since 12:00:02 UTC (12 s); below: the values of 12:00:00" in shown
    assert "connection refused" in shown and "arrivals 238/s" in shown
    assert "no alerts" not in shown  # nobody knows


def test_a_server_that_never_answered_is_told_without_values() -> None:
    shown = text(Frame("http://far:8000", 1.0, None, None, NOON, "connection refused"))

    assert "NO NUMBERS since 12:00:00 UTC (0 s) " in shown
    assert "connection refused" in shown and "workers" not in shown


def test_an_answer_that_takes_long_is_told_before_it_fails() -> None:
    assert "WAITING" not in text(frame(), now=NOON + timedelta(seconds=2))
    assert "WAITING for an answer; below: the values of 4 s ago" in text(frame(), now=NOON + timedelta(seconds=4))


def test_alerts_stand_above_everything_with_what_to_do() -> None:
    shown = drawn(frame(utilization=0.93, predicted_wait_seconds=0.7, workers_needed=3), 80, 24)
    text_of_it = "\n".join(shown)

    assert shown[1].startswith("CRITICAL predicted-wait-long: A new request waits 0.7 s")
    assert "WARNING utilization-high: The workers are 93% used" in text_of_it
    assert "no alerts" not in text_of_it
    assert len(shown) == 24


def test_names_from_elsewhere_cannot_move_the_cursor() -> None:
    texts = [f'miniserve_workers 1\nminiserve_worker_slots{{worker="a\x1b[2Jb"}} {num}\n' for num in (1, 2)]
    earlier, later = (parse(one, 10.0 * at) for at, one in enumerate(texts))
    console = Console(width=80, file=io.StringIO())

    console.print(picture(Frame("http://far:8000", 1.0, snapshot(earlier, later, SETTINGS), NOON), NOON, 80))

    assert "a?[2Jb" in console.file.getvalue()
    assert "\x1b" not in console.file.getvalue()


def test_a_percentile_beyond_the_last_bucket_is_marked() -> None:
    name = "miniserve_time_to_first_token_seconds"
    texts = [f'{name}_bucket{{le="10.0"}} 0\n{name}_bucket{{le="+Inf"}} {num}\n' for num in (0, 9)]
    earlier, later = (parse(one, 10.0 * at) for at, one in enumerate(texts))

    assert ">= 10.0 s" in text(Frame("http://far:8000", 1.0, snapshot(earlier, later, SETTINGS), NOON))


def test_what_the_server_does_not_tell_is_a_dash() -> None:
    shown = text(frame(without="oldest"))

    assert "waiting  15 " in shown and "None" not in shown and "nan" not in shown
    assert "- of 2,048" in text(frame(without="num_requests"))


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_the_picture_can_be_printed_in_the_terminal_s_encoding(encoding: str) -> None:
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding=encoding) as file:  # strict: a character it lacks would raise
        Console(file=file, width=80).print(picture(frame(), NOON, 80))
        file.flush()
        printed = raw.getvalue().decode(encoding)

    assert "utilization" in printed
    assert printed.isascii() == (encoding == "ascii")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "-"), (float("nan"), "-"), (float("inf"), "no end"), (0, "0 ms"), (0.00042, "0.42 ms"),
        (0.0123, "12.3 ms"), (0.456, "456 ms"), (0.9996, "1.00 s"), (1.234, "1.23 s"), (12.3, "12.3 s"),
        (99.96, "1 m 40 s"), (302, "5 m 02 s"), (7200, "120 m 00 s"),
    ],
)  # fmt: skip
def test_times_are_told_with_three_digits(value: float | None, said: str) -> None:
    assert words.seconds(value) == said


@pytest.mark.parametrize(
    ("say", "value", "said"),
    [
        (words.count, 1234, "1,234"), (words.count, float("inf"), "no end"), (words.rate, 41, "41.0/s"),
        (words.rate, 238.4, "238/s"), (words.percent, 0.004, "0.4%"), (words.percent, 0.83, "83%"),
        (words.percent, 0.0996, "10%"), (words.percent, None, "-"), (words.number, 56.1, "56.1"),
        (words.number, 1234.5, "1,234"), (words.rate, float("nan"), "-"),
    ],
)  # fmt: skip
def test_numbers_take_as_few_characters_as_they_need(say: Any, value: float | None, said: str) -> None:
    assert say(value) == said
