"""Jobs, messages and refusals that nobody should meet: each harms at most itself."""

from __future__ import annotations

import base64

import pytest
from redis import Redis

from scheduler.errors import QueueFull, RequestFailed
from scheduler.messages import Completion, FreeCapacity
from tests.mailbox_house import AMPLE, RedisHouse, a_request, an_answer, answer, eventually, ids_of, take, take_one
from worker.queue.protocol import MailboxDown, MailboxLimits, WorkerReport
from worker.queue.worker_end import WorkerMailbox

INFINITE = b'["miniserve.correct",null,[{"version":3,"request_id":"bad","prompt":[1e999]}],{}]'


@pytest.mark.parametrize("data", [INFINITE, b"[" * 200_000, b"junk"])
def test_a_job_that_no_number_or_stack_can_hold_fails_alone(house: RedisHouse, redis_url: str, data: bytes) -> None:
    api, worker = house.api(), house.worker()
    bad, good = api.submit(a_request("bad")), api.submit(a_request("good"))
    Redis.from_url(redis_url).hset("rq:job:bad", "data", data)

    assert take(worker) == ["good"]
    answer(worker, "good")

    assert api.wait(good).request_id == "good"
    with pytest.raises(RequestFailed):
        api.wait(bad)


def test_a_good_request_survives_a_cut_while_its_bad_neighbour_is_failed(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), house.worker()
    api.submit(a_request("good"))
    bad = api.submit(a_request("bad"))
    Redis.from_url(redis_url).hset("rq:job:bad", "data", b"junk")
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
    api, worker = house.api(), WorkerMailbox(house.connect(), max_block_s=0.0)
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


def test_a_message_that_cannot_be_read_does_not_deafen_the_api(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), house.worker()
    ticket = api.submit(a_request("a"))
    redis = Redis.from_url(redis_url)
    endless = b'{"version":3,"request_id":"a","finish_reason":"stop","output":[1e999],"timings":{}}'

    for payload in (base64.b64encode(endless), base64.b64encode(b"[" * 200_000), b"\xff"):
        for channel in redis.pubsub_channels("miniserve:reply:*"):
            redis.publish(channel, payload)
    take(worker)
    answer(worker, "a")

    assert api.wait(ticket).request_id == "a"
    second = api.submit(a_request("b"))
    take(worker)
    answer(worker, "b")
    assert api.wait(second).request_id == "b"


def test_a_redis_without_memory_lets_what_it_accepted_run_and_end(private_house: RedisHouse) -> None:
    api, worker = private_house.api(), private_house.worker()
    tickets = [api.submit(a_request(name)) for name in ("a", "b")]
    assert take(worker, free_tokens=42) == ["a"]
    redis = private_house.connect()
    redis.config_set("maxmemory", "1mb")
    try:
        inbox = worker.exchange([an_answer("a")], AMPLE)
        answer(worker, *ids_of(inbox))
        answered = [api.wait(ticket).request_id for ticket in tickets]
    finally:
        redis.config_set("maxmemory", "0")

    assert answered == ["a", "b"]
    assert worker.num_duplicates == 0


def test_a_redis_without_memory_gives_the_work_of_the_dead_to_others(private_house: RedisHouse) -> None:
    api, one, two = private_house.api(), private_house.worker(), private_house.worker()
    ticket = api.submit(a_request("a"))
    assert take(one) == ["a"]
    one._heartbeat.stop()
    redis = private_house.connect()
    redis.pipeline().zadd("miniserve:leases", {one.name: 1}).config_set("maxmemory", "1mb").execute()
    try:
        delivery = take_one(two)
        answer(two, "a")
        answered = api.wait(ticket).request_id
    finally:
        redis.config_set("maxmemory", "0")

    assert (delivery.attempt, answered) == (2, "a")


def test_a_redis_without_memory_hands_out_to_claims_that_stand(private_house: RedisHouse) -> None:
    api, redis, worker = private_house.api(), private_house.connect(), WorkerMailbox(private_house.connect())
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


def test_a_redis_without_memory_accepts_nothing_that_it_could_not_hand_out(private_house: RedisHouse) -> None:
    api, redis = private_house.api(), private_house.connect()
    api.submit(a_request("a"))
    redis.config_set("maxmemory", "1mb")
    try:
        with pytest.raises(QueueFull, match="up to 1.0 MiB"):
            api.submit(a_request("b"))
    finally:
        redis.config_set("maxmemory", "0")

    assert redis.hlen("miniserve:reservations") == redis.llen("rq:queue:correct") == 1
    assert not redis.exists("rq:job:b")


def test_a_refusal_waits_for_the_backlog_at_the_rate_the_worker_has_shown(house: RedisHouse) -> None:
    api = house.api(MailboxLimits(max_tokens=4_200))
    for rate in (200.0, 100.0):  # of two workers
        house.worker(lambda rate=rate: WorkerReport(service_rate_tokens_per_s=rate))
    assert api.status().service_rate_tokens_per_s == 300.0
    for number in range(100):
        api.submit(a_request(f"q{number}"))

    with pytest.raises(QueueFull) as refusal:
        api.submit(a_request("one-too-many"))

    assert 4_200 / 300 <= refusal.value.retry_after_s <= 2 * 4_200 / 300


def test_a_claimed_suspect_stands_beside_nobody_either(house: RedisHouse, redis_url: str) -> None:
    api, one = house.api(), house.worker()
    api.submit_all([a_request("s1"), a_request("s2")])
    assert take(one) == ["s1", "s2"]
    house.kill(one)
    two = house.worker()
    api.submit(a_request("n"))
    with Redis.from_url(redis_url) as client:  # as after a BLMOVE whose reply was lost, and a second one
        for _ in range(3):
            client.lmove("rq:queue:correct", f"miniserve:claim:{two.name}", "LEFT", "RIGHT")

    assert take(two) == ["s1"]
    answer(two, "s1")
    assert take(two) == ["s2"]
    answer(two, "s2")
    assert take(two) == ["n"]
