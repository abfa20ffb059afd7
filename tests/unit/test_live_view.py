"""The live view: what is computed for those who watch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from api.live.routes import MOST_VIEWERS, Hub
from api.service.readiness import Readiness
from api.site import services_of
from scheduler.errors import RateLimited
from scheduler.settings import Settings
from tests.fake_mailbox import FakeMailbox, client_of, corrector_of
from worker.queue.protocol import MailboxStatus

SETTINGS = Settings(mode="sync")


def next_of(stream: AsyncGenerator[bytes]) -> bytes:
    """Its next part; empty at its end."""
    return asyncio.run(anext(stream, b""))


def test_so_many_may_watch_and_no_more() -> None:
    hub = Hub(services_of(corrector_of(FakeMailbox()), SETTINGS), Readiness())
    streams = [hub.watch(lambda: False) for _ in range(MOST_VIEWERS)]
    with pytest.raises(RateLimited):
        hub.watch(lambda: False)

    next_of(streams[0])
    asyncio.run(streams[0].aclose())

    hub.watch(lambda: False)


def test_the_state_of_the_queue_is_sent_where_it_changed_and_a_fault_is_no_end(mailbox: FakeMailbox) -> None:
    readiness = Readiness()
    stream = Hub(services_of(corrector_of(mailbox), SETTINGS), readiness).watch(lambda: False)
    status = MailboxStatus(redis_ok=True, live_workers=1, queue_depth=3)
    assert next_of(stream) == b"retry: 1000\n\n"

    sent = []
    for one in (status, status, replace(status, redis_ok=False, refusal="Redis is full."), status):
        readiness.look(lambda one=one: one)
        sent.append(next_of(stream))

    state = b'event: state\ndata: {"status": "ready", "live_workers": 1, "queue_depth": 3}\n\n'
    assert sent == [state, b": nothing new\n\n", b'event: problem\ndata: {"detail": "Redis is full."}\n\n', state]


def test_who_asks_for_the_head_of_the_events_gets_no_stream() -> None:
    response = client_of().head("/ops/events")

    assert (response.data, response.content_type) == (b"", "text/event-stream; charset=utf-8")
