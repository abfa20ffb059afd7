"""The sender and the listener of an API process: what breaks one packet or one message breaks no other."""

from __future__ import annotations

import pytest

from scheduler.errors import NotReady
from tests.mailbox_house import AMPLE, RedisHouse, SubmittingRedisMailbox, a_request, an_answer, take
from worker.mailbox import api_end, api_threads
from worker.mailbox.connection import Command, RedisConnection, connect


class Oddity(BaseException):
    """No Exception, as gevent's Timeout is none."""


def test_a_sender_outlives_whatever_one_packet_raises(house: RedisHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    api, real = house.api(), RedisConnection.ask
    api.submit(a_request("before"))
    faults = iter([Oddity("in the sender")])

    def ask(self: RedisConnection, *commands: Command) -> list[object]:
        for fault in faults:
            raise fault
        return real(self, *commands)

    monkeypatch.setattr(RedisConnection, "ask", ask)
    with pytest.raises(NotReady):
        api.submit(a_request("lost"))

    assert api.submit(a_request("after")).request_id == "after"


def test_a_listener_outlives_whatever_one_message_raises(house: RedisHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_threads, "POLL_S", 60.0)  # only what the subscription brings counts
    api, worker, real = house.api(), house.worker(), api_end.formats.decode_news
    first, second = api.submit(a_request("a")), api.submit(a_request("b"))
    faults = iter([Oddity("in the listener")])

    def decode(payload: bytes) -> object:
        for fault in faults:
            raise fault
        return real(payload)

    monkeypatch.setattr(api_end.formats, "decode_news", decode)
    assert take(worker) == ["a", "b"]
    worker.exchange([an_answer("a")], AMPLE)
    worker.exchange([an_answer("b")], AMPLE)

    assert [api.wait(ticket, 5).request_id for ticket in (first, second)] == ["a", "b"]


def test_answers_are_heard_in_the_newer_protocol_of_redis_too(
    house: RedisHouse, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_threads, "POLL_S", 60.0)  # only what the subscription brings counts
    worker, api = house.worker(), SubmittingRedisMailbox(connect(f"{redis_url}?protocol=3"))
    ticket = api.submit(a_request("a"))
    assert take(worker) == ["a"]

    worker.exchange([an_answer("a")], AMPLE)

    assert api.wait(ticket, 5) == an_answer("a")
    api.close()
