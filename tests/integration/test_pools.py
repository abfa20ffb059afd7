"""Prefill and decode workers on a real Redis: a request moves once, is answered once, and is lost with nobody."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scheduler.errors import DeadlineExceeded, RequestFailed
from scheduler.messages import NO_CAPACITY, Completion, FinishReason, FreeCapacity
from tests.mailbox_house import AMPLE, a_request, an_answer, answer, eventually, ids_of, take, take_one
from tests.pools_house import Pools, a_request_that_was_offered, handoffs, offer
from worker.pools.decode import OFFERS


@pytest.fixture
def pools(redis_url: str) -> Iterator[Pools]:
    found = Pools(redis_url)
    yield found
    found.close()


def test_what_was_read_goes_on_elsewhere_and_is_answered_once(pools: Pools) -> None:
    api, ticket, reader = a_request_that_was_offered(pools)
    writer = pools.decode()

    taken = writer.exchange((), AMPLE)
    told = reader.exchange((), AMPLE)
    reader.exchange([Completion("a", FinishReason.CANCELLED)], AMPLE)  # as the actor answers what was cancelled
    late = reader.exchange([an_answer("a", 9)], AMPLE)
    answer(writer, "a")

    assert handoffs(taken.deliveries) == {"a": b"state of a"}
    assert (told.cancelled_ids, late.cancelled_ids) == (("a",), ())
    assert api.wait(ticket) == an_answer("a")
    assert (reader.num_duplicates, writer.num_duplicates) == (1, 0)
    assert pools.places() == {"queue": [], "wip": []}
    assert pools.client.keys("miniserve:hand*") == []


def test_only_one_decode_worker_takes_it(pools: Pools) -> None:
    a_request_that_was_offered(pools)
    one, two = pools.decode(), pools.decode()

    assert [take(one), take(two)] == [["a"], []]


def test_what_does_not_fit_into_the_tokens_waits_in_order(pools: Pools) -> None:
    api, reader = pools.api(), pools.prefill()
    for name in ("a", "b", "c"):
        api.submit(a_request(name))  # 42 tokens each
    take(reader)
    offer(reader, "a", "b", "c")
    writer = pools.decode()

    first = writer.exchange((), FreeCapacity(84))

    assert (ids_of(first), first.deferred_id) == (["a", "b"], "c")
    assert take(writer) == ["c"]


def test_what_a_prefill_worker_dies_with_is_read_again(pools: Pools) -> None:
    api, ticket, reader = a_request_that_was_offered(pools)

    pools.kill(reader)
    writer, other = pools.decode(), pools.prefill()

    assert take(writer) == []  # its offer is nobody's
    assert take_one(other).attempt == 2
    offer(other, "a")
    assert handoffs(writer.exchange((), AMPLE).deliveries) == {"a": b"state of a"}
    answer(writer, "a")
    assert api.wait(ticket) == an_answer("a")


def test_what_a_decode_worker_dies_with_is_read_again(pools: Pools) -> None:
    api, ticket, reader = a_request_that_was_offered(pools)
    writer = pools.decode()
    assert take(writer) == ["a"]
    assert reader.exchange((), NO_CAPACITY).cancelled_ids == ("a",)

    pools.kill(writer)

    assert take_one(reader).attempt == 2
    offer(reader, "a")
    other = pools.decode()
    assert take(other) == ["a"]
    answer(other, "a")
    assert api.wait(ticket) == an_answer("a")


def test_the_answer_of_a_decode_worker_that_was_thought_dead_is_dropped(pools: Pools) -> None:
    api, ticket, reader = a_request_that_was_offered(pools)
    writer = pools.decode(is_fresh=lambda: False)
    assert take(writer) == ["a"]
    reader.exchange((), NO_CAPACITY)
    assert take_one(reader).attempt == 2  # its lease ran out

    writer.exchange([an_answer("a", 9)], NO_CAPACITY)
    offer(reader, "a")
    other = pools.decode()
    assert take(other) == ["a"]
    answer(other, "a")

    assert api.wait(ticket) == an_answer("a")


def test_what_was_taken_and_given_back_before_its_worker_heard_of_it_is_offered_again(pools: Pools) -> None:
    """What it read is still there; the decode worker left in between."""
    api, ticket, reader = a_request_that_was_offered(pools)
    writer = pools.decode()
    assert take(writer) == ["a"]
    writer.close()

    told = reader.exchange((), AMPLE)
    reader.exchange((), AMPLE)
    other = pools.decode()

    assert (ids_of(told), told.cancelled_ids) == ([], ())
    assert take(other) == ["a"]
    answer(other, "a")
    assert api.wait(ticket) == an_answer("a")


def test_a_request_that_kills_three_workers_is_given_up_whichever_they_are(pools: Pools) -> None:
    api, ticket, reader = a_request_that_was_offered(pools)
    for attempt in (2, 3):
        writer = pools.decode()
        assert take(writer) == ["a"]
        pools.kill(writer)
        assert take_one(reader).attempt == attempt
        offer(reader, "a")
    pools.kill(reader)

    assert take(pools.prefill()) == []

    with pytest.raises(RequestFailed, match="3 attempts"):
        api.wait(ticket)


def test_a_cancelled_request_is_taken_by_nobody(pools: Pools) -> None:
    api, ticket, reader = a_request_that_was_offered(pools)
    writer = pools.decode()

    api.abandon(ticket)
    eventually(lambda: pools.client.hget("rq:job:a", "cancel_requested"))
    assert take(writer) == []
    told = reader.exchange((), NO_CAPACITY)

    assert told.cancelled_ids == ("a",)
    assert pools.client.hget("rq:job:a", "status") == "canceled"
    assert pools.places() == {"queue": [], "wip": []}
    assert pools.client.hlen("miniserve:reservations") == 0


def test_a_cancelled_request_leaves_its_prefill_worker_also_without_a_decode_worker(pools: Pools) -> None:
    api, ticket, reader = a_request_that_was_offered(pools)

    api.abandon(ticket)
    eventually(lambda: pools.client.hget("rq:job:a", "cancel_requested"))
    reader.exchange((), AMPLE)

    eventually(lambda: reader.exchange((), AMPLE) and pools.client.hget("rq:job:a", "status") == "canceled")
    assert take(pools.decode()) == []


def test_a_request_cancelled_while_it_decodes_leaves_its_decode_worker(pools: Pools) -> None:
    api, ticket, _ = a_request_that_was_offered(pools)
    writer = pools.decode()
    assert take(writer) == ["a"]

    api.abandon(ticket)
    eventually(lambda: pools.client.hget("rq:job:a", "cancel_requested"))

    assert eventually(lambda: writer.exchange((), AMPLE).cancelled_ids) == ("a",)


def test_a_request_whose_deadline_is_over_is_not_taken_over(pools: Pools) -> None:
    api, reader, writer = pools.api(), pools.prefill(), pools.decode()
    ticket = api.submit(a_request("a"), within_s=600.0)
    assert take(reader) == ["a"]
    offer(reader, "a")
    with pytest.raises(DeadlineExceeded):
        api.wait(ticket, 0.3)
    eventually(lambda: pools.client.hget("rq:job:a", "cancel_requested"))

    assert take(writer) == []
    eventually(lambda: reader.exchange((), AMPLE) and pools.client.hget("rq:job:a", "expired") == "1")
    assert pools.places() == {"queue": [], "wip": []}


def test_a_request_whose_bytes_are_gone_comes_without_them(pools: Pools) -> None:
    a_request_that_was_offered(pools)
    pools.client.delete("miniserve:handoff:a")

    taken = pools.decode().exchange((), AMPLE)

    assert handoffs(taken.deliveries) == {"a": b""}


def test_an_offer_that_redis_lost_is_made_again(pools: Pools) -> None:
    _, _, reader = a_request_that_was_offered(pools)
    pools.client.delete(OFFERS, "miniserve:handoff:a")
    writer = pools.decode()
    assert take(writer) == []

    reader._fail()  # its connection broke: it synchronises, and offers what it holds

    reader.exchange((), NO_CAPACITY)
    assert handoffs(writer.exchange((), AMPLE).deliveries) == {"a": b"state of a"}


def test_an_offer_is_made_again_after_a_while(pools: Pools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.pools.prefill.AGAIN_S", 0.0)
    _, _, reader = a_request_that_was_offered(pools)
    pools.client.delete(OFFERS)

    reader.exchange((), NO_CAPACITY)

    assert take(pools.decode()) == ["a"]


def test_the_bytes_on_their_way_are_bounded(pools: Pools) -> None:
    api, reader = pools.api(), pools.prefill()
    names = [f"r{number}" for number in range(6)]
    for name in names:
        api.submit(a_request(name))
    assert take(reader) == names

    for name in names:
        offer(reader, name, handoff=bytes(15 << 20))

    assert pools.client.llen(OFFERS) == 4  # of 15 MiB each; the bound is 64
    assert pools.client.zcard("miniserve:handoffs") == 4


def test_bytes_that_nobody_takes_are_forgotten(pools: Pools) -> None:
    a_request_that_was_offered(pools)

    assert 0 < pools.client.pttl("miniserve:handoff:a") <= 10_000


def test_a_worker_that_leaves_gives_back_what_it_has_offered(pools: Pools) -> None:
    _, _, reader = a_request_that_was_offered(pools)

    reader.close()

    assert pools.places() == {"queue": ["a"], "wip": []}
    assert take(pools.decode()) == []


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
