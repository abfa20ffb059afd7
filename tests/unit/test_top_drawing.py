"""The screen of `miniserve top`: what stands on it, in terminals of all sizes, with colours and without."""

from __future__ import annotations

import io
from dataclasses import replace
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
    return Frame("http://far:8000", snapshot(earlier, later, SETTINGS), NOON)


def drawn(shown: Frame, width: int = 80, height: int | None = None, now: datetime = NOON) -> list[str]:
    """The lines, blanks at their ends included."""
    console = Console(width=width, file=io.StringIO())
    options = console.options.update(height=height)
    lines = console.render_lines(picture(shown, now, width, "q quits"), options)
    return ["".join(segment.text for segment in line) for line in lines]


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


@pytest.mark.parametrize("width", [30, 76])
def test_no_line_is_wider_than_the_terminal_and_the_workers_come_last(width: int) -> None:
    lines = drawn(frame(num_workers=40), width, 100)

    assert {len(line) for line in lines} == {width}
    assert "next waits" in "".join(lines).partition("workers 40")[0]


LAST = frame().snapshot
AWAY = Frame("http://far:8000", LAST, NOON, NOON + timedelta(seconds=2), "connection\x1brefused")
STRANGE = {  # names from elsewhere, and a percentile beyond the last bucket
    "named": 'miniserve_workers 1\nminiserve_worker_slots{{worker="a\x1b[2Jb"}} {}\n',
    "slow": 'miniserve_{0}_bucket{{{{le="10.0"}}}} 0\nminiserve_{0}_bucket{{{{le="+Inf"}}}} {{}}\n'.format(
        "time_to_first_token_seconds"
    ),
}


def strange(name: str) -> Frame:
    earlier, later = (parse(STRANGE[name].format(num), 10.0 * num) for num in (1, 2))
    return Frame("http://far:8000", snapshot(earlier, later, SETTINGS), NOON)


@pytest.mark.parametrize(
    ("shown", "after_s", "words_of_it", "other_words"),
    [
        (frame(num_workers=0), 0, ["none lives"], ["no alerts"]),
        (AWAY, 14, ["NO NUMBERS since 12:00:02 UTC (12 s); below: the values of 12:00:00", "connection?refused",
                    "arrivals 238/s"], ["no alerts"]),
        (replace(AWAY, snapshot=None, read_at=None), 2, ["NO NUMBERS since 12:00:02 UTC (0 s) "], ["workers"]),
        (frame(without="oldest"), 0, ["waiting  15 "], ["None", "nan"]),
        (frame(without="num_requests"), 0, ["- of 2,048"], []),
        (strange("named"), 0, ["a?[2Jb"], ["\x1b"]),
        (strange("slow"), 0, [">= 10.0 s"], []),
    ],
)  # fmt: skip
def test_what_is_missing_old_or_strange_is_shown_as_such(
    shown: Frame, after_s: int, words_of_it: list[str], other_words: list[str]
) -> None:
    text = "\n".join(drawn(shown, now=NOON + timedelta(seconds=after_s)))

    assert [one for one in words_of_it if one not in text] == []
    assert [one for one in other_words if one in text] == []


def test_alerts_stand_above_everything_with_what_to_do() -> None:
    shown = drawn(frame(utilization=0.93, predicted_wait_seconds=0.7, workers_needed=3), 80, 24)
    text_of_it = "\n".join(shown)

    assert shown[1].startswith("CRITICAL predicted-wait-long: A new request waits 0.7 s")
    assert "WARNING utilization-high: The workers are 93% used" in text_of_it
    assert "no alerts" not in text_of_it
    assert len(shown) == 24


def test_the_picture_can_be_printed_where_the_terminal_knows_ascii_alone() -> None:
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding="ascii") as file:  # strict: a character it lacks would raise
        Console(file=file, width=80).print(picture(frame(), NOON, 80))
        file.flush()

        assert b"utilization" in raw.getvalue()


@pytest.mark.parametrize(
    ("say", "value", "said"),
    [
        (words.seconds, None, "-"), (words.seconds, float("nan"), "-"), (words.seconds, float("inf"), "no end"),
        (words.seconds, 0, "0 ms"), (words.seconds, 0.00042, "0.42 ms"), (words.seconds, 0.0123, "12.3 ms"),
        (words.seconds, 0.456, "456 ms"), (words.seconds, 0.9996, "1.00 s"), (words.seconds, 12.3, "12.3 s"),
        (words.seconds, 99.96, "1 m 40 s"), (words.seconds, 302, "5 m 02 s"), (words.seconds, 7200, "120 m 00 s"),
        (words.count, 1234, "1,234"), (words.rate, 41, "41.0/s"), (words.rate, 238.4, "238/s"),
        (words.percent, 0.004, "0.4%"), (words.percent, 0.83, "83%"), (words.percent, 0.0996, "10%"),
        (words.number, 56.1, "56.1"), (words.number, 1234.5, "1,234"),
    ],
)  # fmt: skip
def test_numbers_take_as_few_characters_as_they_need(say: Any, value: float | None, said: str) -> None:
    assert say(value) == said
