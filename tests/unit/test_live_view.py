"""The live view: what is computed for those who watch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from api.live.figures import figures
from api.live.routes import MOST_VIEWERS, Hub
from api.site import services_of
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.errors import NotReady, RateLimited
from scheduler.settings import Settings
from tests.fake_mailbox import FakeMailbox, client_of, corrector_of

SETTINGS = Settings(mode="sync")


def next_of(stream: AsyncGenerator[bytes]) -> bytes:
    """Its next part; empty at its end."""
    return asyncio.run(anext(stream, b""))


def test_figures_are_of_the_time_between_two_looks() -> None:
    earlier = Observed(now=Moment(at_s=10.0, done=100), totals={"generation_tokens": 1000})
    totals = {"generation_tokens": 1600, "time_to_first_token:9": 10, "inter_token_latency:2": 4}
    later = Observed(now=Moment(at_s=12.0, done=140), totals=totals, workers=(WorkerFacts("w"),), num_waiting=3)

    found = figures(earlier, later, SETTINGS)

    assert (found["answers_per_s"], found["tokens_per_s"], found["waiting"]) == (20.0, 300.0, 3)
    assert found["ttft_ms"] == [25.0, 29.5] and found["itl_ms"] == [1.8, 2.0]
    assert figures(later, later, SETTINGS)["ttft_ms"] is None and figures(later, later, SETTINGS)["law"] is None


def test_the_three_of_littles_law_are_of_one_window() -> None:
    earlier = Observed(now=Moment(at_s=10.0, area_s=100.0, stay_s=50.0, accepted=90, ended=90))
    later = Observed(now=Moment(at_s=20.0, area_s=104.0, stay_s=54.0, accepted=490, ended=490))

    assert figures(earlier, later, SETTINGS)["law"] == {"L": 0.4, "rate_per_s": 40.0, "W_ms": 10.0, "residual": 0.0}


def test_a_system_without_workers_shows_the_alert() -> None:
    seen = Observed(now=Moment(at_s=1.0))

    assert "no-live-worker" in [one["name"] for one in figures(seen, seen, SETTINGS)["alerts"]]


def test_so_many_may_watch_and_no_more() -> None:
    hub = Hub(services_of(corrector_of(FakeMailbox()), SETTINGS))
    streams = [hub.watch(lambda: False) for _ in range(MOST_VIEWERS)]
    with pytest.raises(RateLimited):
        hub.watch(lambda: False)

    next_of(streams[0])
    asyncio.run(streams[0].aclose())

    hub.watch(lambda: False)


def test_all_viewers_share_the_figures_of_a_second(mailbox: FakeMailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    observe, asked = mailbox.observe, []
    monkeypatch.setattr(mailbox, "observe", lambda: asked.append(1) or observe())
    hub = Hub(replace(services_of(corrector_of(mailbox), SETTINGS), clock=lambda: 1.0))

    for _ in range(3):
        stream = hub.watch(lambda: False)
        assert next_of(stream) and b"event: figures" in next_of(stream)
        asyncio.run(stream.aclose())

    assert len(asked) == 1


def test_a_redis_that_does_not_answer_is_a_problem_and_no_end(mailbox: FakeMailbox) -> None:
    now_s = 1.0
    services = replace(services_of(corrector_of(mailbox), SETTINGS), clock=lambda: now_s)
    stream = Hub(services).watch(lambda: False)
    next_of(stream)
    figures = next_of(stream)

    mailbox.error, now_s = NotReady("Redis does not answer.", 1.0), 3.0
    problems = [next_of(stream) for _ in range(2)]
    mailbox.error = None

    assert problems == [b'event: problem\ndata: {"detail": "Redis does not answer."}\n\n'] * 2, "and no older figures"
    assert all(b"event: figures" in each for each in (figures, next_of(stream)))


def test_who_asks_for_the_head_of_the_events_gets_no_stream() -> None:
    response = client_of().head("/ops/events")

    assert (response.data, response.content_type) == (b"", "text/event-stream; charset=utf-8")
