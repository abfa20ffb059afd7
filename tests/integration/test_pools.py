"""Prefill and decode workers on a real Redis: a request moves once, is answered once, and is lost with nobody."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from scheduler.errors import RequestFailed
from scheduler.messages import NO_CAPACITY, FreeCapacity
from tests.mailbox_house import AMPLE, a_request, an_answer, answer, eventually, ids_of, take, take_one
from tests.pools_house import Pools, a_request_that_was_read, hand_over, handoffs
from worker.pools.decode import DECODE_QUEUE
from worker.pools.prefill import MOST_READ
from worker.queue.protocol import MailboxDown


@pytest.fixture
def pools(redis_url: str) -> Iterator[Pools]:
    found = Pools(redis_url)
    yield found
    found.close()


def test_what_was_read_goes_on_elsewhere_and_is_answered_once(pools: Pools) -> None:
    api, ticket, reader = a_request_that_was_read(pools)
    writer = pools.decode()

    taken = writer.exchange((), AMPLE)
    late = reader.exchange([an_answer("a", 9)], AMPLE)
    answer(writer, "a")

    assert handoffs(taken.deliveries) == {"a": b"state of a"}
    assert late.is_empty
    assert api.wait(ticket) == an_answer("a")
    assert (reader.num_duplicates, writer.num_duplicates) == (1, 0)
    assert pools.places() == {"queue": [], "read": [], "wip": []}
    assert pools.client.keys("miniserve:hand*") == []


def test_only_one_decode_worker_takes_it(pools: Pools) -> None:
    a_request_that_was_read(pools)
    one, two = pools.decode(), pools.decode()

    assert [take(one), take(two)] == [["a"], []]


def test_what_does_not_fit_into_the_tokens_waits_in_order(pools: Pools) -> None:
    api, reader = pools.api(), pools.prefill()
    for name in ("a", "b", "c"):
        api.submit(a_request(name))  # 42 tokens each
    take(reader)
    hand_over(reader, "a", "b", "c")
    writer = pools.decode()

    first = writer.exchange((), FreeCapacity(84))

    assert (ids_of(first), first.deferred_id) == (["a", "b"], "c")
    assert take(writer) == ["c"]


def test_what_was_read_outlives_its_prefill_worker(pools: Pools) -> None:
    api, ticket, reader = a_request_that_was_read(pools)

    pools.kill(reader)
    writer = pools.decode()

    assert handoffs(writer.exchange((), AMPLE).deliveries) == {"a": b"state of a"}
    answer(writer, "a")
    assert api.wait(ticket) == an_answer("a")


def test_what_a_prefill_worker_dies_with_is_read_by_another(pools: Pools) -> None:
    api, reader = pools.api(), pools.prefill()
    ticket = api.submit(a_request("a"))
    assert take(reader) == ["a"]

    pools.kill(reader)
    other = pools.prefill()

    assert take_one(other).attempt == 2
    hand_over(other, "a")
    writer = pools.decode()
    assert take(writer) == ["a"]
    answer(writer, "a")
    assert api.wait(ticket) == an_answer("a")


def test_what_was_read_while_redis_was_away_is_read_again(pools: Pools) -> None:
    api, reader = pools.api(), pools.prefill()
    ticket = api.submit(a_request("a"))
    assert take(reader) == ["a"]
    reader._fail()
    reader._retry_s = time.monotonic() + 0.05

    with pytest.raises(MailboxDown):
        hand_over(reader, "a")

    assert eventually(lambda: time.monotonic() > reader._retry_s and take(reader)) == ["a"]
    hand_over(reader, "a")
    writer = pools.decode()
    assert handoffs(writer.exchange((), AMPLE).deliveries) == {"a": b"state of a"}
    answer(writer, "a")
    assert api.wait(ticket) == an_answer("a")


def test_what_a_decode_worker_dies_with_is_read_again(pools: Pools) -> None:
    api, ticket, reader = a_request_that_was_read(pools)
    writer = pools.decode()
    assert take(writer) == ["a"]

    pools.kill(writer)

    assert take_one(reader).attempt == 2
    hand_over(reader, "a")
    other = pools.decode()
    assert take(other) == ["a"]
    answer(other, "a")
    assert api.wait(ticket) == an_answer("a")


def test_the_answer_of_a_decode_worker_that_was_thought_dead_is_dropped(pools: Pools) -> None:
    api, ticket, reader = a_request_that_was_read(pools)
    writer = pools.decode(is_fresh=lambda: False)
    assert take(writer) == ["a"]
    assert take_one(reader).attempt == 2  # its lease ran out

    writer.exchange([an_answer("a", 9)], NO_CAPACITY)
    hand_over(reader, "a")
    other = pools.decode()
    assert take(other) == ["a"]
    answer(other, "a")

    assert api.wait(ticket) == an_answer("a")


def test_what_a_decode_worker_gives_back_is_read_again(pools: Pools) -> None:
    api, ticket, reader = a_request_that_was_read(pools)
    writer = pools.decode()
    assert take(writer) == ["a"]

    writer.close()

    assert take_one(reader).attempt == 1
    hand_over(reader, "a")
    other = pools.decode()
    assert take(other) == ["a"]
    answer(other, "a")
    assert api.wait(ticket) == an_answer("a")


def test_a_request_that_kills_three_workers_is_given_up_whichever_they_are(pools: Pools) -> None:
    api, ticket, reader = a_request_that_was_read(pools)
    for attempt in (2, 3):
        writer = pools.decode()
        assert take(writer) == ["a"]
        pools.kill(writer)
        assert take_one(reader).attempt == attempt
        if attempt == 2:
            hand_over(reader, "a")
    pools.kill(reader)

    assert take(pools.prefill()) == []

    with pytest.raises(RequestFailed, match="3 attempts"):
        api.wait(ticket)


def test_a_request_cancelled_while_it_waits_is_taken_by_nobody(pools: Pools) -> None:
    api, ticket, _ = a_request_that_was_read(pools)

    api.abandon(ticket)
    eventually(lambda: pools.client.hget("rq:job:a", "status") == "canceled")

    assert take(pools.decode()) == []
    assert pools.places() == {"queue": [], "read": [], "wip": []}
    assert pools.client.hlen("miniserve:reservations") == 0


def test_a_request_cancelled_while_its_prompt_is_read_ends_with_the_next_worker(pools: Pools) -> None:
    api, reader = pools.api(), pools.prefill()
    ticket = api.submit(a_request("a"))
    assert take(reader) == ["a"]
    api.abandon(ticket)
    eventually(lambda: pools.client.hget("rq:job:a", "cancel_requested"))

    told = hand_over(reader, "a")

    assert told.cancelled_ids == ()
    assert take(pools.decode()) == []
    assert pools.client.hget("rq:job:a", "status") == "canceled"
    assert pools.places() == {"queue": [], "read": [], "wip": []}
    assert pools.client.hlen("miniserve:reservations") == 0


def test_a_request_cancelled_while_it_decodes_leaves_its_decode_worker(pools: Pools) -> None:
    api, ticket, _ = a_request_that_was_read(pools)
    writer = pools.decode()
    assert take(writer) == ["a"]

    api.abandon(ticket)
    eventually(lambda: pools.client.hget("rq:job:a", "cancel_requested"))

    assert eventually(lambda: writer.exchange((), AMPLE).cancelled_ids) == ("a",)


def test_a_request_whose_deadline_is_over_is_not_decoded(pools: Pools) -> None:
    api, reader, writer = pools.api(), pools.prefill(), pools.decode()
    api.submit(a_request("a"), within_s=600.0)
    assert take(reader) == ["a"]
    hand_over(reader, "a")
    pools.client.hset("rq:job:a", mapping={"deadline": 1, "special": 1})

    assert take(writer) == []

    assert pools.client.hget("rq:job:a", "expired") == "1"
    assert pools.places() == {"queue": [], "read": [], "wip": []}


def test_a_request_whose_bytes_are_gone_comes_without_them(pools: Pools) -> None:
    a_request_that_was_read(pools)
    pools.client.delete("miniserve:handoff:a")

    taken = pools.decode().exchange((), AMPLE)

    assert handoffs(taken.deliveries) == {"a": b""}


def test_what_was_read_and_redis_lost_is_read_again(pools: Pools) -> None:
    _, _, reader = a_request_that_was_read(pools)

    pools.client.delete(DECODE_QUEUE)

    assert eventually(lambda: take(reader)) == ["a"]


def test_no_prompt_is_read_while_many_wait_for_decode_workers(pools: Pools) -> None:
    api, reader, writer = pools.api(), pools.prefill(), pools.decode()
    names = [f"r{number}" for number in range(MOST_READ)]
    for name in names:
        api.submit(a_request(name))
    assert eventually(lambda: (take(reader), len(reader._held) == MOST_READ)[1])
    hand_over(reader, *names)
    api.submit(a_request("more"))

    assert [take(reader), take(reader)] == [[], []]

    assert take(writer) == names
    assert eventually(lambda: take(reader)) == ["more"]


def test_bytes_that_nobody_takes_are_forgotten(pools: Pools) -> None:
    a_request_that_was_read(pools)

    assert 0 < pools.client.pttl("miniserve:handoff:a") <= 10_000


def test_a_worker_that_leaves_leaves_what_it_has_read(pools: Pools) -> None:
    _, _, reader = a_request_that_was_read(pools)

    reader.close()

    assert pools.places() == {"queue": [], "read": ["a"], "wip": []}
    assert take(pools.decode()) == ["a"]


def test_what_was_read_goes_back_to_the_queue_where_no_decode_worker_is_left(pools: Pools) -> None:
    a_request_that_was_read(pools)
    assert pools.places()["read"] == ["a"]

    pools.client.delete("miniserve:rates")

    eventually(lambda: pools.places()["queue"] == ["a"])


def test_what_a_first_token_ended_is_answered_by_the_prefill_worker(pools: Pools) -> None:
    api, reader = pools.api(), pools.prefill()
    ticket = api.submit(a_request("a"))
    assert take(reader) == ["a"]

    answer(reader, "a")

    assert api.wait(ticket) == an_answer("a")


def test_one_pool_without_the_other_is_not_ready(pools: Pools) -> None:
    api = pools.api()
    reader = pools.prefill()
    assert api.status().live_workers == 0

    writer = pools.decode()
    assert eventually(lambda: api.status().live_workers == 2)

    pools.kill(reader)
    assert eventually(lambda: api.status().live_workers == 0)
    assert take(writer) == []
