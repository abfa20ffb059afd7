"""Workers that die, hang, come back, or lose a reply: nothing is lost, nothing is answered twice."""

from __future__ import annotations

import pytest
from redis import Redis

from scheduler.errors import RequestFailed
from scheduler.messages import NO_CAPACITY, Completion, FinishReason
from tests.mailbox_house import AMPLE, RedisHouse, a_request, an_answer, answer, eventually, ids_of, take, take_one
from tests.recorded_requests import a_record
from worker.queue import formats, replies
from worker.queue.connection import RedisConnection, script
from worker.queue.protocol import MailboxDown
from worker.queue.worker_end import WorkerMailbox


@pytest.fixture
def client(redis_url: str) -> Redis:
    return Redis.from_url(redis_url, decode_responses=True)


def reserved(client: Redis) -> tuple[int, int]:
    return client.hlen("miniserve:reservations"), int(client.hget("miniserve:counts", "reserved_tokens") or 0)


def die_without_a_word(worker: WorkerMailbox) -> None:
    worker._heartbeat.stop()


def lose_the_next_reply(line: RedisConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis has run the commands; the connection breaks before their replies arrive."""
    read = line._line.read

    def break_once() -> None:
        read()
        monkeypatch.undo()
        raise ConnectionResetError("cut")

    monkeypatch.setattr(line._line, "read", break_once)


def test_the_work_of_a_worker_that_died_is_taken_over_soon(house: RedisHouse) -> None:
    api, one, two = house.api(), house.worker(), house.worker()
    tickets = [api.submit(a_request(name)) for name in ("a", "b")]
    assert take(one, free_tokens=84) == ["a"]

    die_without_a_word(one)
    assert take(two) == ["b"]
    answer(two, "b")  # what a worker died with waits until the next one holds nothing else
    delivery = take_one(two)
    answer(two, "a")

    assert (delivery.request.request_id, delivery.attempt) == ("a", 2)
    assert [api.wait(ticket).request_id for ticket in tickets] == ["a", "b"]
    assert api.status().live_workers == 1


def test_an_id_that_a_dead_worker_had_claimed_goes_back_to_the_queue(house: RedisHouse, client: Redis) -> None:
    api, one, two = house.api(), house.worker(), house.worker()
    api.submit(a_request("a"))
    client.blmove("rq:queue:correct", f"miniserve:claim:{one.name}", 1, "LEFT", "RIGHT")
    assert take(two) == []

    die_without_a_word(one)

    assert take_one(two).attempt == 1  # claimed, but never started


def test_a_loop_that_hangs_loses_its_work_and_is_told_when_it_wakes(house: RedisHouse) -> None:
    is_awake = True
    api, one, two = house.api(), house.worker(is_fresh=lambda: is_awake), house.worker()
    ticket = api.submit(a_request("a"))
    assert take(one) == ["a"]

    is_awake = False
    assert take_one(two).request.request_id == "a"
    is_awake = True
    told = one.exchange((), AMPLE)
    one.exchange([an_answer("a", 1)], AMPLE)
    answer(two, "a")

    assert told.cancelled_ids == ("a",)
    assert one.num_duplicates == 0  # its late answer was not even sent
    assert api.wait(ticket) == an_answer("a")
    eventually(lambda: api.status().live_workers == 2)


def test_the_late_answer_of_a_worker_that_was_stopped_is_dropped(house: RedisHouse, client: Redis) -> None:
    api, one, two = house.api(), house.worker(is_fresh=lambda: False), house.worker()
    ticket = api.submit(a_request("a"))
    assert take(one) == ["a"]
    assert take_one(two).request.request_id == "a"

    one.exchange([an_answer("a", 1)], AMPLE)
    answer(two, "a")

    assert api.wait(ticket) == an_answer("a")
    assert (one.num_duplicates, client.hget("miniserve:counts", "duplicates")) == (1, "1")


def test_a_request_lost_and_got_again_by_the_same_worker_runs_on(house: RedisHouse) -> None:
    api, one, two = house.api(), house.worker(is_fresh=lambda: False), house.worker()
    ticket = api.submit(a_request("a"))
    assert take(one) == ["a"]
    assert take_one(two).request.request_id == "a"
    two.close()

    told = one.exchange((), AMPLE)
    again = one.exchange([Completion("a", FinishReason.CANCELLED)], AMPLE)
    answer(one, "a")

    assert told.cancelled_ids == ("a",)
    assert ids_of(again) == ["a"]
    assert api.wait(ticket) == an_answer("a")


def test_a_lost_delivery_comes_again(house: RedisHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    api, worker = house.api(), house.worker()
    assert take(worker) == []
    api.submit(a_request("a"))
    lose_the_next_reply(worker._claims, monkeypatch)
    with pytest.raises(MailboxDown, match="cut"):
        worker.exchange((), AMPLE)

    (delivery,) = worker.exchange((), AMPLE).deliveries

    assert (delivery.request.request_id, delivery.attempt) == ("a", 1)
    assert take(worker) == []


def test_what_killed_a_worker_that_had_got_it_in_the_second_attempt_is_suspected(
    house: RedisHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, one = house.api(), house.worker()
    assert take(one) == []
    api.submit(a_request("poison"))
    lose_the_next_reply(one._claims, monkeypatch)
    with pytest.raises(MailboxDown, match="cut"):
        one.exchange((), AMPLE)
    assert take(one) == ["poison"]

    house.kill(one)

    (delivery,) = house.worker().exchange((), AMPLE).deliveries
    assert (delivery.attempt, delivery.is_suspect) == (2, True)


ENDS = [
    Completion("a", FinishReason.STOP, (7, 1)),
    Completion("a", FinishReason.ERROR, error="it broke"),
    Completion("a", FinishReason.CANCELLED),
]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.finish_reason.value)
def test_an_answer_whose_receipt_was_lost_is_sent_again_and_counts_once(
    house: RedisHouse, client: Redis, monkeypatch: pytest.MonkeyPatch, end: Completion
) -> None:
    api, worker = house.api(), house.worker()
    api.submit_recorded(a_record("a"), [a_request("a")])
    assert eventually(lambda: take(worker)) == ["a"]
    if end.finish_reason is FinishReason.CANCELLED:
        api.cancel("a")
    lose_the_next_reply(worker._outgoing, monkeypatch)
    with pytest.raises(MailboxDown):
        worker.exchange([end], NO_CAPACITY)

    assert take(worker) == []

    ((state, payload),) = api.ask(script("check", "a"))
    assert replies.outcome_of("a", state, payload).finish_reason is end.finish_reason
    assert client.xlen("rq:results:a") == (end.finish_reason is not FinishReason.CANCELLED)
    assert reserved(client) == (0, 0)
    assert (worker.num_duplicates, client.hget("miniserve:counts", "duplicates")) == (0, None)


def test_data_that_cannot_be_read_fails_alone(house: RedisHouse, client: Redis) -> None:
    api, worker = house.api(), house.worker()
    broken = {
        "no-json": b"\x80\x04\x95pickled",
        "no-request": b'["miniserve.correct",null,[{"version":3}],{}]',
        "other-version": b'["miniserve.correct",null,[{"version":99}],{}]',
        "other-function": formats.encode_request(a_request("other-function")).replace(
            b"miniserve.correct", b"os.system"
        ),
        "other-id": formats.encode_request(a_request("somebody-else")),
    }
    tickets = {name: api.submit(a_request(name)) for name in [*broken, "good"]}
    for name, raw in broken.items():
        client.hset(f"rq:job:{name}", "data", raw)

    assert take(worker) == ["good"]

    for name in broken:
        with pytest.raises(RequestFailed):
            api.wait(tickets[name])
    assert set(client.zrange("rq:failed:correct", 0, -1)) == set(broken)
    assert reserved(client) == (1, 42)


def test_a_worker_that_leaves_leaves_nothing_behind(house: RedisHouse, client: Redis) -> None:
    api, worker = house.api(), house.worker()
    api.submit(a_request("a"))
    assert take(worker) == ["a"]
    before = client.smembers("rq:workers")

    worker.close()

    assert before == {f"rq:worker:{worker.name}"}
    assert client.exists("miniserve:leases", "rq:workers", "rq:workers:correct", "rq:wip:correct") == 0
    assert client.keys(f"*{worker.name}*") == []
    assert client.lrange("rq:queue:correct", 0, -1) == ["a"]


def test_an_exchange_without_news_is_one_script_that_asks_redis_for_little(house: RedisHouse, client: Redis) -> None:
    worker = house.worker()
    worker.exchange((), AMPLE)
    client.config_resetstat()

    for _ in range(200):
        worker.exchange((), AMPLE)

    calls = {name: stat["calls"] for name, stat in client.info("commandstats").items()}
    assert 200 <= calls["cmdstat_evalsha"] < 240  # the heartbeat sends one now and then, too
    assert sum(calls.values()) < 10 * 200
