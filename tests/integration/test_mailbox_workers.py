"""Workers that die, hang, come back, or lose a reply: nothing is lost, nothing is answered twice."""

from __future__ import annotations

import zlib

import pytest
from redis import Redis

from scheduler.errors import RequestFailed
from scheduler.messages import NO_CAPACITY, Completion, FinishReason
from tests.mailbox_house import AMPLE, RedisHouse, a_request, an_answer, answer, eventually, ids_of, take, take_one
from tests.recorded_requests import a_record
from worker.queue import formats
from worker.queue.connection import RedisConnection, script
from worker.queue.protocol import MailboxDown
from worker.queue.worker_end import WorkerMailbox


def reserved(client: Redis) -> tuple[int, int]:
    return client.hlen("miniserve:reservations"), int(client.hget("miniserve:counts", "reserved_tokens") or 0)


def end_lease(client: Redis, worker: WorkerMailbox) -> None:
    """It ran out in 1970, and the others have yet to notice."""
    client.zadd("miniserve:leases", {worker.name: 1})


def lose_the_next_reply(line: RedisConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis has run the commands; the connection breaks before their replies arrive."""
    read = line.read

    def break_once() -> None:
        read()
        monkeypatch.undo()
        raise ConnectionResetError("cut")

    monkeypatch.setattr(line, "read", break_once)


def test_a_request_lost_and_got_again_by_the_same_worker_runs_on(house: RedisHouse, client: Redis) -> None:
    api, one, two = house.api(), house.worker(is_fresh=lambda: False), house.worker()
    ticket = api.submit(a_request("a"))
    assert take(one) == ["a"]
    end_lease(client, one)
    assert take_one(two).request.request_id == "a"
    two.close()

    told = one.exchange((), AMPLE)
    again = one.exchange([Completion("a", FinishReason.CANCELLED)], AMPLE)
    answer(one, "a")

    assert told.cancelled_ids == ("a",)
    assert ids_of(again) == ["a"]
    assert client.hget("miniserve:counts", "duplicates") is None  # its late answer was not even sent
    assert api.wait(ticket) == an_answer("a")


@pytest.mark.parametrize("reason", [FinishReason.STOP, FinishReason.CANCELLED])
def test_an_answer_whose_receipt_was_lost_is_sent_again_and_counts_once(
    house: RedisHouse, client: Redis, monkeypatch: pytest.MonkeyPatch, reason: FinishReason
) -> None:
    api, worker = house.api(), house.worker()
    api.submit_recorded(a_record("a"), [a_request("a")])
    assert eventually(lambda: take(worker)) == ["a"]
    if reason is FinishReason.CANCELLED:
        api.cancel("a")
    lose_the_next_reply(worker._outgoing, monkeypatch)
    with pytest.raises(MailboxDown):
        worker.exchange([Completion("a", reason, (7, 1))], NO_CAPACITY)

    assert take(worker) == []

    ((state, payload),) = api.ask(script("check", "a"))
    assert formats.outcome_of("a", state, payload).finish_reason is reason
    assert client.xlen("rq:results:a") == (reason is not FinishReason.CANCELLED)
    assert reserved(client) == (0, 0)
    assert client.hget("miniserve:counts", "duplicates") is None


def test_data_that_cannot_be_read_fails_alone(house: RedisHouse, client: Redis) -> None:
    api, worker = house.api(), house.worker()
    broken = {
        "no-json": b"\x80\x04\x95pickled",
        "infinite": b'["miniserve.correct",null,[{"version":3,"request_id":"infinite","prompt":[1e999]}],{}]',
        "deep": b"[" * 60_000,
        "no-request": b'["miniserve.correct",null,[{"version":3}],{}]',
        "other-version": b'["miniserve.correct",null,[{"version":99}],{}]',
        "other-function": formats.encode_request(a_request("other-function")).replace(
            b"miniserve.correct", b"os.system"
        ),
        "other-id": formats.encode_request(a_request("somebody-else")),
        "long": b"[" + b" " * 5_000_000,
        "grows": zlib.compress(b"[" + b" " * 50_000_000),
    }
    tickets = {name: api.submit(a_request(name)) for name in [*broken, "good"]}
    for name, raw in broken.items():
        client.hset(f"rq:job:{name}", "data", raw)

    assert take(worker) == ["good"]

    for name in broken:
        with pytest.raises(RequestFailed, match="longer than" if name in ("long", "grows") else None):
            api.wait(tickets[name])
    assert set(client.zrange("rq:failed:correct", 0, -1)) == set(map(str.encode, broken))
    assert reserved(client) == (1, 42)
