"""Requests that were given up: put back by hand, or away."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from redis import Redis
from rq.job import Job
from rq.serializers import JSONSerializer

from ops.cli import main
from scheduler.messages import NO_CAPACITY, Completion, FinishReason
from tests.mailbox_house import RedisHouse, a_request, an_answer, answer, eventually, take, take_one
from tests.recorded_requests import ASKED, a_record
from worker.queue.protocol import MailboxLimits


@pytest.fixture
def dead(house: RedisHouse) -> str:
    api, worker = house.api(), house.worker()
    api.submit(a_request("dead"))
    assert take(worker) == ["dead"]
    worker.exchange([Completion("dead", FinishReason.ERROR, error="it broke")], NO_CAPACITY)
    worker.close()
    house.mailboxes.remove(worker)
    return "dead"


def run(redis_url: str, *arguments: str):
    return CliRunner().invoke(main, [arguments[0], "--redis-url", redis_url, *arguments[1:]])


def test_dead_letters_are_listed_with_the_reason_and_without_text(redis_url: str, dead: str) -> None:
    listed, as_json = run(redis_url, "dead-letters"), run(redis_url, "dead-letters", "--json")
    letter = json.loads(as_json.output)

    assert (listed.exit_code, as_json.exit_code) == (0, 0)
    assert set(letter) == {"id", "ended_at", "attempts", "why"}
    assert (letter["id"], letter["why"]) == (dead, "it broke")
    assert listed.output == f"{dead}  {letter['ended_at']}  {letter['attempts']} attempts  it broke\n"
    assert letter["ended_at"].startswith("20")


def test_what_is_no_sound_dead_letter_is_listed_all_the_same(redis_url: str) -> None:
    with Redis.from_url(redis_url) as client:
        client.zadd("rq:failed:correct", {"torn": 1, "gone": 2, "esc\x1b[2J": 3})
        client.set("rq:job:torn", "no hash")
        client.xadd("rq:results:gone", {"exc_string": "no base64 \xff"})

    listed = run(redis_url, "dead-letters")

    assert listed.exit_code == 0
    assert [line.split()[0] for line in listed.output.splitlines()] == ["torn", "gone", "esc?[2J"]


def test_no_dead_letters_are_said_to_be_none(redis_url: str) -> None:
    assert run(redis_url, "dead-letters").output == "no dead letters\n"


def test_a_dead_letter_put_back_runs_again_by_itself(house: RedisHouse, redis_url: str, dead: str) -> None:
    done = run(redis_url, "requeue", dead)
    api = house.api()
    reserved = api.status().reserved_tokens
    worker = house.worker()
    delivery = take_one(worker)
    answer(worker, dead)

    assert (done.exit_code, done.output) == (0, "dead: back in the queue\n")
    assert (reserved, delivery.request, delivery.attempt) == (42, a_request(dead), 2)
    eventually(lambda: api.status().reserved_tokens == 0)
    with Redis.from_url(redis_url) as client:
        assert Job.fetch(dead, connection=client, serializer=JSONSerializer).get_status() == "finished"
        assert not client.zcard("rq:failed:correct")


@pytest.mark.parametrize("form", ["keyed", "two sentences"])
def test_the_answer_of_a_dead_letter_put_back_can_be_fetched(house: RedisHouse, redis_url: str, form: str) -> None:
    ids, record = FORMS[form]
    api, worker = house.api(), house.worker()
    api.submit_recorded(record, [a_request(each) for each in ids], within_s=30.0)
    assert eventually(lambda: take(worker)) == ids
    worker.exchange([Completion(ids[0], FinishReason.ERROR, error="it broke")], NO_CAPACITY)
    answer(worker, *ids[1:])

    with Redis.from_url(redis_url) as client:
        assert client.ttl("miniserve:request:dead") >= client.ttl(f"rq:job:{ids[0]}") - 1 > 86_400
    assert run(redis_url, "requeue", ids[0]).exit_code == 0
    answer(worker, *eventually(lambda: take(worker)))

    found = api.find("dead")
    assert found.content == ASKED
    assert found.jobs[0].state == an_answer(ids[0])


def test_a_dead_letter_is_put_back_even_where_the_queue_is_full(house: RedisHouse, redis_url: str, dead: str) -> None:
    api = house.api(MailboxLimits(max_requests=1))
    api.submit(a_request("a"))

    assert run(redis_url, "requeue", dead).exit_code == 0

    worker = house.worker()
    assert take(worker) == ["a"], "what may have killed a worker stands beside nobody"
    answer(worker, "a")
    assert take(worker) == [dead]


FORMS = {  # of a request: its jobs, and what makes its record
    "plain": (["dead"], None),
    "asynchronous": (["dead"], a_record("dead", is_async=True)),
    "keyed": (["dead"], a_record("dead", "key")),
    "batch of one": (["dead-0"], a_record("dead", "key")),
    "two sentences": (["dead-0", "dead-1"], a_record("dead", "key")),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_dropped_dead_letter_leaves_nothing_behind(house: RedisHouse, redis_url: str, form: str) -> None:
    ids, record = FORMS[form]
    api, worker = house.api(), house.worker()
    if record is None:
        api.submit(a_request("dead"))
    else:
        api.submit_recorded(record, [a_request(each) for each in ids])
    assert eventually(lambda: take(worker)) == ids  # a single job is sent later
    worker.exchange([Completion(each, FinishReason.ERROR, error="it broke") for each in ids], NO_CAPACITY)
    with Redis.from_url(redis_url) as client:
        done = run(redis_url, "drop", *ids)

        assert (done.exit_code, done.output) == (0, "".join([f"{each}: dropped\n" for each in ids]))
        assert list(client.scan_iter("*:dead*")) == []  # a name of a worker may have these letters, too
        assert not client.zcard("rq:failed:correct")
    assert house.api().status().reserved_requests == 0
    assert house.api().find("dead") is None


def test_a_key_whose_request_was_dropped_is_free_for_any_other(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), house.worker()
    api.submit_recorded(a_record("dead", "key"), [a_request("dead")])
    assert take(worker) == ["dead"]
    worker.exchange([Completion("dead", FinishReason.ERROR, error="it broke")], NO_CAPACITY)

    run(redis_url, "drop", "dead")
    api.submit_recorded(a_record("dead", "key", digest="other"), [a_request("dead", 5)])

    assert take(worker) == ["dead"]


def test_a_text_of_which_a_dead_letter_was_dropped_is_forgotten(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), house.worker()
    ids = ["done", "dead-0", "runs"]
    wanted = api.recorded(a_record("texts", "key"), [a_request(each) for each in ids], None)
    api.enqueue(wanted)
    assert eventually(lambda: take(worker)) == ids
    answer(worker, "done")
    worker.exchange([Completion("dead-0", FinishReason.ERROR, error="it broke")], NO_CAPACITY)

    run(redis_url, "drop", "dead-0")
    answer(worker, "runs")

    with Redis.from_url(redis_url) as client:
        assert not client.exists("miniserve:request:texts")
    assert api.find("texts") is None
    assert api.status().reserved_requests == 0


@pytest.mark.parametrize("command", ["requeue", "drop"])
def test_what_is_no_dead_letter_is_left_alone_and_the_others_are_served(
    house: RedisHouse, redis_url: str, dead: str, command: str
) -> None:
    api = house.api()
    api.submit(a_request("waiting"))

    done = run(redis_url, command, "waiting", "unknown", "no id!", dead)

    assert done.exit_code == 1
    assert "request waiting is no dead letter, it is queued" in done.output
    assert "there is no request unknown; dead letters are kept for a week" in done.output
    assert "allowed are letters, digits" in done.output
    assert f"{dead}: " in done.output
    assert api.status().queue_depth == (2 if command == "requeue" else 1)


def test_a_redis_that_is_away_is_named_without_its_password() -> None:
    done = run("redis://:secret@127.0.0.1:1/0", "drop", "x")

    assert done.exit_code == 1
    assert "127.0.0.1:1/0 does not answer" in done.output and "secret" not in done.output
