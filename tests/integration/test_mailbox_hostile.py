"""Jobs, messages and refusals that nobody should meet: each harms at most itself."""

from __future__ import annotations

import base64
import time

import pytest
from redis import Redis

from scheduler.errors import NotReady, QueueFull, RequestFailed
from tests.mailbox_house import AMPLE, RedisHouse, a_request, an_answer, answer, eventually, ids_of, take
from worker.mailbox.line import LineDown
from worker.mailbox.protocol import MailboxDown, MailboxLimits
from worker.mailbox.worker_end import RedisWorkerMailbox

INFINITE = b'["miniserve.correct",null,[{"version":1,"request_id":"bad","prompt_ids":[1e999]}],{}]'


@pytest.mark.parametrize("data", [INFINITE, b"[" * 200_000, b"junk"])
def test_a_job_that_no_number_or_stack_can_hold_fails_alone(house: RedisHouse, redis_url: str, data: bytes) -> None:
    api, worker = house.api(), house.worker()
    bad, good = api.submit(a_request("bad")), api.submit(a_request("good"))
    Redis.from_url(redis_url).hset("rq:job:bad", "data", data)

    assert take(worker) == ["good"]
    answer(worker, "good")

    assert api.wait(good, 5).request_id == "good"
    with pytest.raises(RequestFailed):
        api.wait(bad, 5)


def test_a_good_request_survives_a_cut_while_its_bad_neighbour_is_failed(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), house.worker()
    api.submit(a_request("good"))
    bad = api.submit(a_request("bad"))
    Redis.from_url(redis_url).hset("rq:job:bad", "data", b"junk")
    _cut_at_packet(worker, number=2)

    delivered = take(worker)
    eventually(lambda: _exchange_quietly(worker))

    assert delivered == ["good"]
    with pytest.raises(RequestFailed):
        api.wait(bad, 5)


def _cut_at_packet(worker: RedisWorkerMailbox, number: int) -> None:
    ask, packets = worker._line.ask, iter(range(1, 1000))

    def ask_or_break(*commands: object) -> list:
        if next(packets) == number:
            worker._line.close()
            raise LineDown("cut by a test")
        return ask(*commands)

    worker._line.ask = ask_or_break


def _exchange_quietly(worker: RedisWorkerMailbox) -> bool:
    try:
        worker.exchange((), AMPLE, 1)
    except MailboxDown:
        return False
    return True


def test_a_message_that_cannot_be_read_does_not_deafen_the_api(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), house.worker()
    ticket = api.submit(a_request("a"))
    redis = Redis.from_url(redis_url)
    endless = b'{"version":1,"request_id":"a","finish_reason":"stop","output_ids":[1e999],"timings":{}}'

    for payload in (base64.b64encode(endless), base64.b64encode(b"[" * 200_000), b"\xff"):
        for channel in redis.pubsub_channels("miniserve:reply:*"):
            redis.publish(channel, payload)
    take(worker)
    answer(worker, "a")

    assert api.wait(ticket, 5).request_id == "a"
    second = api.submit(a_request("b"))
    take(worker)
    answer(worker, "b")
    assert api.wait(second, 5).request_id == "b"


def test_an_answer_that_redis_stored_before_it_ran_full_is_not_sent_again(private_house: RedisHouse) -> None:
    api, worker = private_house.api(), private_house.worker()
    api.submit(a_request("a"))
    api.submit(a_request("b"))
    take(worker)
    redis = private_house._connect()
    redis.config_set("maxmemory", "1mb")
    try:
        for answers in ([an_answer("a")], (), ()):
            with pytest.raises(MailboxDown):
                worker.exchange(answers, AMPLE, 1)
    finally:
        redis.config_set("maxmemory", "0")

    eventually(lambda: _exchange_quietly(worker))

    assert redis.hget("rq:job:a", "status") == b"finished"
    assert worker.num_duplicates == 0


def test_a_redis_without_memory_accepts_nothing_that_it_could_not_hand_out(private_house: RedisHouse) -> None:
    api, redis = private_house.api(), private_house._connect()
    api.submit(a_request("a"))
    redis.config_set("maxmemory", "1mb")
    try:
        with pytest.raises(NotReady, match="out of memory"):
            api.submit(a_request("b"))
    finally:
        redis.config_set("maxmemory", "0")

    assert redis.hlen("miniserve:reservations") == redis.llen("rq:queue:correct") == 1
    assert not redis.exists("rq:job:b")


def test_a_refusal_waits_for_the_backlog_at_the_rate_the_worker_has_shown(house: RedisHouse) -> None:
    api, worker = house.api(MailboxLimits(max_tokens=4_200)), house.worker()
    for number in range(4):  # 42 tokens each 0.2 s: a slow worker
        api.submit(a_request(f"r{number}"))
        taken = ids_of(worker.exchange((), AMPLE, 0))
        time.sleep(0.2)  # what is measured is a rate, so time has to pass
        answer(worker, *taken)
    eventually(lambda: api.status().service_rate_tokens_per_s > 0)
    for number in range(100):
        api.submit(a_request(f"q{number}"))

    with pytest.raises(QueueFull) as refusal:
        api.submit(a_request("one-too-many"))

    expected = 4_200 / api.status().service_rate_tokens_per_s
    assert 0.8 * expected <= refusal.value.retry_after_s <= 2.2 * expected
    assert refusal.value.retry_after_s > 3.0


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


def test_time_without_work_does_not_count_as_slowness(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    for number in range(4):
        api.submit(a_request(f"r{number}"))
        taken = take(worker)
        time.sleep(0.2)
        answer(worker, *taken)
        for _ in range(5):
            time.sleep(0.1)
            assert take(worker) == []

    assert eventually(lambda: api.status().service_rate_tokens_per_s) > 1.5 * 42 / (0.2 + 0.5)  # that of all the time
