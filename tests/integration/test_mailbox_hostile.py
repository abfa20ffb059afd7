"""Jobs, messages and refusals that nobody should meet: each harms at most itself."""

from __future__ import annotations

import base64

import pytest
from redis import Redis

from scheduler.errors import RequestFailed
from scheduler.messages import Completion, FreeCapacity
from tests.mailbox_house import AMPLE, RedisHouse, a_request, an_answer, answer, eventually, ids_of, take
from worker.queue.protocol import MailboxDown
from worker.queue.worker_end import WorkerMailbox


def test_a_good_request_survives_a_cut_while_its_bad_neighbour_is_failed(house: RedisHouse, client: Redis) -> None:
    api, worker = house.api(), house.worker()
    api.submit(a_request("good"))
    bad = api.submit(a_request("bad"))
    client.hset("rq:job:bad", "data", b"junk")
    _cut_the_next_packet(worker)

    delivered = take(worker)
    eventually(lambda: _exchange_quietly(worker))

    assert delivered == ["good"]
    with pytest.raises(RequestFailed):
        api.wait(bad)


def _cut_the_next_packet(worker: WorkerMailbox) -> None:
    """Of answers."""
    send = worker._outgoing.send

    def send_or_break(*commands: object) -> None:
        worker._outgoing.send = send
        worker._outgoing.close()
        raise MailboxDown("cut by a test")

    worker._outgoing.send = send_or_break


def test_what_was_delivered_is_not_lost_when_the_next_claim_finds_no_redis(house: RedisHouse) -> None:
    api, worker = house.api(), WorkerMailbox(house.address, max_block_s=0.0)
    worker.open(lambda: True)
    ticket = api.submit(a_request("a"))
    worker.exchange((), AMPLE)
    eventually(worker._claims.has_reply)
    send = worker._claims.send

    def send_or_break(*commands: object) -> None:
        worker._claims.send = send
        raise MailboxDown("cut by a test")

    worker._claims.send = send_or_break
    delivered = take(worker)
    eventually(lambda: _exchange_quietly(worker))
    answer(worker, *delivered)

    assert api.wait(ticket).request_id == "a"
    worker.close()


def _exchange_quietly(worker: WorkerMailbox) -> bool:
    try:
        worker.exchange((), AMPLE)
    except MailboxDown:
        return False
    return True


def test_a_message_that_cannot_be_read_does_not_deafen_the_api(house: RedisHouse, client: Redis) -> None:
    api, worker = house.api(), house.worker()
    ticket = api.submit(a_request("a"))
    endless = b'{"version":3,"request_id":"a","finish_reason":"stop","output":[1e999],"timings":{}}'

    for payload in (base64.b64encode(endless), base64.b64encode(b"[" * 200_000), b"\xff"):
        for channel in client.pubsub_channels("miniserve:reply:*"):
            client.publish(channel, payload)
    take(worker)
    answer(worker, "a")

    assert api.wait(ticket).request_id == "a"
    second = api.submit(a_request("b"))
    take(worker)
    answer(worker, "b")
    assert api.wait(second).request_id == "b"


def test_a_redis_without_memory_hands_out_to_claims_that_stand(private_house: RedisHouse) -> None:
    api, redis, worker = private_house.api(), private_house.connect(), WorkerMailbox(private_house.address)
    worker.open(lambda: True)
    tickets = [api.submit(a_request(name)) for name in "abcd"]
    answers: list[Completion] = []

    def work() -> bool:
        given = answers.copy()
        answers[:] = map(an_answer, ids_of(worker.exchange(given, FreeCapacity(42), wait_s=0.05)))
        return not api.status().reserved_requests

    redis.config_set("maxmemory", "1mb")
    try:
        worker._needs_resync = True
        eventually(work)
        answered = [api.wait(ticket).request_id for ticket in tickets]
    finally:
        redis.config_set("maxmemory", "0")
        worker.close()

    assert answered == list("abcd")
