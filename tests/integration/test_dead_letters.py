"""Requests that were given up: put back by hand, or away."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result
from redis import Redis

from ops.cli import main
from scheduler.messages import NO_CAPACITY, Completion, FinishReason
from tests.mailbox_house import AMPLE, RedisHouse, SubmittingMailbox, a_request, an_answer, answer, eventually, take
from tests.recorded_requests import ASKED, a_record
from worker.queue.protocol import MailboxLimits
from worker.queue.worker_end import WorkerMailbox


@pytest.fixture
def api(house: RedisHouse) -> SubmittingMailbox:
    return house.api(MailboxLimits(max_requests=3))


@pytest.fixture
def worker(house: RedisHouse, api: SubmittingMailbox) -> WorkerMailbox:
    """With a request of two sentences that failed on the first."""
    worker = house.worker()
    api.submit_recorded(a_record("text", "key"), [a_request("dead"), a_request("done")], within_s=30.0)
    assert eventually(lambda: take(worker)) == ["dead", "done"]
    worker.exchange([Completion("dead", FinishReason.ERROR, error="it broke"), an_answer("done")], NO_CAPACITY)
    return worker


def run(redis_url: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, [arguments[0], "--redis-url", redis_url, *arguments[1:]])


def test_dead_letters_are_listed_with_the_reason_and_without_text(redis_url: str, worker: WorkerMailbox) -> None:
    listed, as_json = run(redis_url, "dead-letters", "list"), run(redis_url, "dead-letters", "--json")
    letter = json.loads(as_json.output)

    assert (listed.exit_code, as_json.exit_code) == (0, 0)
    assert set(letter) == {"id", "ended_at", "why"}
    assert listed.output == f"dead  {letter['ended_at']}  it broke\n"
    assert letter["ended_at"].startswith("20")


def test_what_is_no_sound_dead_letter_is_listed_all_the_same_and_none_are_said_to_be_none(redis_url: str) -> None:
    none = run(redis_url, "dead-letters").output
    with Redis.from_url(redis_url) as client:
        client.zadd("rq:failed:correct", {"torn": 1, "gone": 2, "esc\x1b[2J": 3})
        client.set("rq:job:torn", "no hash")
        client.xadd("rq:results:gone", {"exc_string": "no base64 \xff"})

    listed = run(redis_url, "dead-letters")

    assert (none, listed.exit_code) == ("no dead letters\n", 0)
    assert [line.split()[0] for line in listed.output.splitlines()] == ["torn", "gone", "esc?[2J"]


def test_a_dead_letter_put_back_into_a_full_queue_runs_alone_and_its_answer_can_be_fetched(
    redis_url: str, api: SubmittingMailbox, worker: WorkerMailbox
) -> None:
    for name in ("a", "b", "c"):
        api.submit(a_request(name))

    done = run(redis_url, "dead-letters", "requeue", "dead")

    assert (done.exit_code, done.output) == (0, "dead: back in the queue\n")
    assert take(worker) == ["a", "b", "c"], "what may have killed a worker stands beside nobody"
    answer(worker, "a", "b", "c")
    (delivery,) = worker.exchange((), AMPLE).deliveries
    answer(worker, "dead")
    assert (delivery.request, delivery.attempt) == (a_request("dead"), 2)
    found = api.find("text")
    assert (found.content, [job.state for job in found.jobs]) == (ASKED, [an_answer("dead"), an_answer("done")])


def test_a_dropped_dead_letter_leaves_nothing_behind_and_its_key_is_free(
    redis_url: str, api: SubmittingMailbox, worker: WorkerMailbox
) -> None:
    done = run(redis_url, "drop", "dead")  # its name before 2.0
    found = api.find("text")
    api.submit_recorded(a_record("new", "key", digest="other"), [a_request("new")])

    assert (done.exit_code, done.output, found) == (0, "dead: dropped\n", None)
    with Redis.from_url(redis_url) as client:
        assert list(client.scan_iter("*:dead*")) == []  # a name of a worker may have these letters, too
        assert not client.zcard("rq:failed:correct")
    assert take(worker) == ["new"]


@pytest.mark.parametrize("command", ["requeue", "drop"])
def test_what_is_no_dead_letter_is_left_alone_and_the_others_are_served(
    redis_url: str, api: SubmittingMailbox, worker: WorkerMailbox, command: str
) -> None:
    api.submit(a_request("waiting"))

    done = run(redis_url, "dead-letters", command, "waiting", "unknown", "no id!", "dead")

    assert done.exit_code == 1
    assert "request waiting is no dead letter, it is queued" in done.output
    assert "there is no request unknown; dead letters are kept for a week" in done.output
    assert "there is no request no id!;" in done.output
    assert "dead: " in done.output
    assert api.status().queue_depth == (2 if command == "requeue" else 1)
