"""What Redis keeps of requests is bounded in bytes: counted when it comes, and until it is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from redis import Redis
from rq.job import Job
from rq.serializers import JSONSerializer

from ops.run.embedded_redis import EmbeddedRedis
from scheduler.errors import QueueFull
from scheduler.messages import Completion, FinishReason, Timings
from tests.mailbox_house import AMPLE, RedisHouse, a_request, an_answer, answer, take
from tests.recorded_requests import a_record
from tests.scripted_queue import ScriptedQueue
from worker.mailbox.connection import script
from worker.mailbox.protocol import MailboxLimits, ReplyMode, Submission

NUM = 300
SHAPES = {  # of a request: prompt tokens, sentences, characters of its document, how it wants its answer
    "plain": (20, 1, 60, ReplyMode.WAIT, ""),
    "longest": (128, 1, 500, ReplyMode.WAIT, ""),
    "blanks": (10, 1, 40_000, ReplyMode.WAIT, ""),
    "asynchronous": (20, 1, 60, ReplyMode.ASYNC, ""),
    "batch": (6, 64, 900, ReplyMode.ASYNC, ""),
    "keyed": (20, 1, 60, ReplyMode.WAIT, "key"),
}


@pytest.fixture
def queue(private_redis: EmbeddedRedis) -> Iterator[ScriptedQueue]:
    with Redis.from_url(private_redis.url) as client:
        queue = ScriptedQueue(client)
        queue.limits = MailboxLimits(max_requests=100_000, max_tokens=10_000_000)
        yield queue


@pytest.mark.parametrize("shape", SHAPES)
def test_the_count_is_never_below_the_memory_that_is_used_and_less_than_three_times_as_much(
    queue: ScriptedQueue, shape: str
) -> None:
    num_prompt, num_jobs, num_characters, manner, key = SHAPES[shape]
    queue.accept("warm-up")  # loads the scripts
    queue.cancel("warm-up")
    _kept(queue)  # and compiles that of the look, which takes more memory than 20 jobs
    before, known = _used(queue), _kept(queue)
    pairs, ids = [], []
    for number in range(NUM // num_jobs):
        name = f"{number:032x}"
        requests = [a_request(name if num_jobs == 1 else f"{name}-{at}", num_prompt) for at in range(num_jobs)]
        record = Submission(name, "x" * num_characters, "f" * 16, "d" * 32, key and f"{key}-{number}", manner)
        queue.enqueue(requests, record, within_s=30.0)
        ids += [request.request_id for request in requests]
    pairs.append((_used(queue) - before, _kept(queue) - known))
    assert set(queue.drain("worker")) == set(ids)
    pairs.append((_used(queue) - before, _kept(queue) - known))
    answers = [Completion(each, FinishReason.STOP, (1,) * 32, Timings(1.23, 1.23, 1.23)) for each in ids]
    queue.finish_all("worker", answers)
    pairs.append((_used(queue) - before, _kept(queue) - known))

    assert all(used <= counted for used, counted in pairs), pairs
    assert pairs[-1][1] < 3 * pairs[-1][0], pairs


def test_what_is_forgotten_counts_no_more(queue: ScriptedQueue) -> None:
    queue.enqueue([a_request("a", 20)], a_record("a"), within_s=30.0)
    queue.drain("worker")
    queue.finish("worker", "a")
    kept = _kept(queue)

    queue.now_s = 61.0  # its answer is forgotten, its text not yet
    queue.beat("worker")
    text_only = _kept(queue)
    queue.now_s = 200.0
    queue.beat("worker")

    assert kept > text_only > 0 == _kept(queue)
    assert queue.client.hlen("miniserve:kept") == 0


def test_answers_that_nobody_waits_for_are_refused_first(queue: ScriptedQueue) -> None:
    queue.limits = replace(queue.limits, max_memory_bytes=200_000)
    replies = [_one(queue, f"a{number}", is_async=True) for number in range(40)]
    num_async = replies.count("accepted")
    keyed, waiting = _one(queue, "k", key="key"), _one(queue, "w")
    more = [_one(queue, f"w{number}") for number in range(40)]

    assert 5 < num_async < 40
    assert (keyed, waiting) == ("kept", "accepted")
    assert {"accepted", "kept"} == set(more)
    assert _kept(queue) <= 100_000


def test_nothing_is_forgotten_before_its_time_when_the_memory_is_full(queue: ScriptedQueue) -> None:
    queue.limits = replace(queue.limits, max_memory_bytes=100_000)
    accepted = [
        name for name in (f"a{number}" for number in range(40)) if _one(queue, name, is_async=True) == "accepted"
    ]
    queue.drain("worker")
    queue.finish("worker", *accepted)

    queue.now_s = 599.0
    queue.beat("worker")

    assert all(queue.client.exists(f"rq:results:{name}", f"miniserve:request:{name}") == 2 for name in accepted)
    assert _one(queue, "late", is_async=True) == "kept"


def test_the_limit_of_redis_itself_goes_before_the_assumed_one(queue: ScriptedQueue) -> None:
    queue.client.config_set("maxmemory", "64mb")
    queue.beat("worker")
    queue.limits = replace(queue.limits, max_memory_bytes=1)

    assert _one(queue, "a") == "accepted"


def test_a_dead_letter_that_is_dropped_or_put_back_counts_once(queue: ScriptedQueue) -> None:
    for name in ("dropped", "revived"):
        queue.accept(name)
    _forget_texts(queue)
    one_open = _kept(queue) / 2
    queue.drain("worker")
    queue.finish("worker", "dropped", "revived", reason=FinishReason.ERROR)

    queue.run(script("drop", "dropped"))
    queue.run(script("revive", "revived"))

    assert _kept(queue) == one_open


def test_dead_letters_have_no_bucket_however_many_there_are(queue: ScriptedQueue) -> None:
    for number in range(5):
        queue.now_s = 10.0 * number
        queue.accept(f"dead-{number}")
        queue.client.delete(f"miniserve:text:dead-{number}")
        queue.drain("worker")
        queue.finish("worker", f"dead-{number}", reason=FinishReason.ERROR)
    _forget_texts(queue)
    kept = _kept(queue)
    queue.now_s += 60.0
    queue.beat("worker")

    assert kept == _kept(queue) > 5 * 3600
    assert not queue.client.exists("miniserve:kept")


@pytest.mark.parametrize("what", ["delete", "requeue"])
def test_a_dead_letter_counts_no_more_once_the_dashboard_takes_it_away(queue: ScriptedQueue, what: str) -> None:
    queue.accept("dead")
    _forget_texts(queue)
    open_bytes = _kept(queue)
    queue.drain("worker")
    queue.finish("worker", "dead", reason=FinishReason.ERROR)

    getattr(Job.fetch("dead", connection=queue.client, serializer=JSONSerializer), what)()
    queue.now_s += 2.0
    queue.beat("worker")

    assert _kept(queue) == (open_bytes if what == "requeue" else 0)


@pytest.mark.parametrize("is_async", [True, False])
def test_the_text_of_a_dead_letter_counts_as_long_as_it_is_kept(queue: ScriptedQueue, is_async: bool) -> None:
    queue.enqueue([a_request("a", 20)], replace(a_record("a", is_async=is_async), document="x" * 40_000))
    for _ in range(2):  # put back, it fails again
        queue.drain("worker")
        queue.finish("worker", "a", reason=FinishReason.ERROR)
        queue.now_s += 86_400.0
        queue.beat("worker")
        kept = _kept(queue)
        queue.run(script("revive", "a"))

    assert queue.client.ttl(f"miniserve:{'request' if is_async else 'text'}:a") > 86_400
    assert 80_000 > kept > 40_000
    queue.drain("worker")
    queue.finish("worker", "a", reason=FinishReason.ERROR)
    queue.run(script("drop", "a"))
    queue.beat("worker")
    assert _kept(queue) == 0


def test_the_text_of_a_dead_letter_outlives_the_answers_beside_it(queue: ScriptedQueue) -> None:
    queue.enqueue([a_request("a-0", 20), a_request("a-1", 20)], a_record("a"), within_s=30.0)
    queue.drain("worker")
    queue.finish("worker", "a-0", reason=FinishReason.ERROR)

    queue.finish("worker", "a-1")

    assert queue.client.ttl("miniserve:request:a") > 86_400


@pytest.mark.parametrize("order", [["a-0", "a-1"], ["a-1", "a-0"]])
def test_the_text_of_dropped_dead_letters_counts_until_the_last_of_them(queue: ScriptedQueue, order: list[str]) -> None:
    record = replace(a_record("a"), document="x" * 40_000)
    queue.enqueue([a_request("a-0", 20), a_request("a-1", 20)], record)
    queue.drain("worker")
    for at, each in enumerate(["a-0", "a-1"]):
        queue.now_s = 4000.0 * at  # in different hours
        queue.finish("worker", each, reason=FinishReason.ERROR)
    queue.now_s = 8000.0
    queue.beat("worker")

    queue.run(script("drop", order[0]))
    queue.beat("worker")
    kept = _kept(queue)
    queue.run(script("drop", order[1]))
    queue.beat("worker")

    assert kept > 40_000 and _kept(queue) == 0
    assert set(queue.client.hvals("miniserve:kept")) <= {b"0"}


def test_a_key_that_is_repeated_counts_its_record_once(queue: ScriptedQueue) -> None:
    _one(queue, "a", key="key")
    kept = _kept(queue)

    replies = [_one(queue, "a", key="key") for _ in range(5)]

    assert (replies, _kept(queue)) == (["attached"] * 5, kept)


def test_a_refusal_for_want_of_memory_is_queue_full_and_says_when_to_come_back(house: RedisHouse) -> None:
    api = house.api(MailboxLimits(max_memory_bytes=24_000))
    api.submit(a_request("a"))
    api.submit(a_request("b"))

    with pytest.raises(QueueFull, match="MiB") as refusal:
        api.submit(a_request("c"))

    assert 1 <= refusal.value.retry_after_s <= 60


@pytest.mark.parametrize("end", ["finished", "failed"])
def test_only_what_may_run_again_keeps_its_data(house: RedisHouse, redis_url: str, end: str) -> None:
    api, worker = house.api(), house.worker()
    api.submit(a_request("a", 100))
    take(worker)
    worker.exchange([an_answer("a") if end == "finished" else Completion("a", FinishReason.ERROR, error="x")], AMPLE)

    with Redis.from_url(redis_url) as client:
        assert (client.hstrlen("rq:job:a", "data") < 80) == (end == "finished")


def test_a_redis_that_is_full_of_answers_still_takes_and_ends_what_was_accepted(private_house: RedisHouse) -> None:
    redis = private_house.connect()
    redis.config_set("maxmemory", f"{int(redis.info('memory')['used_memory'] / 2**20) + 8}mb")
    api, worker = private_house.api(MailboxLimits(max_requests=100_000, max_tokens=10**8)), private_house.worker()
    redis.hset("miniserve:counts", "max_memory", redis.info("memory")["maxmemory"])
    accepted = 0
    with pytest.raises(QueueFull):
        while True:
            name = f"{accepted:032x}"
            api.submit_recorded(replace(a_record(name, is_async=True), document="x" * 30_000), [a_request(name)])
            accepted += 1
    waiting = api.submit(a_request("waiting"))

    taken = 0
    while batch := take(worker):
        answer(worker, *batch)
        taken += len(batch)

    assert taken == accepted + 1 > 50
    assert api.wait(waiting).request_id == "waiting"
    redis.config_set("maxmemory", "0")


def _one(queue: ScriptedQueue, name: str, is_async: bool = False, key: str = "") -> str:
    return queue.enqueue([a_request(name, 20)], a_record(name, key, is_async=is_async))


def _forget_texts(queue: ScriptedQueue) -> None:
    """Those of requests without a time limit are kept for the longest time of any; the jobs are still there."""
    for key in queue.client.scan_iter("miniserve:text:*"):
        queue.client.delete(key)
    queue.now_s += 1000.0
    queue.beat("worker")


def _used(queue: ScriptedQueue) -> int:
    return queue.client.info("memory")["used_memory_dataset"]


def _kept(queue: ScriptedQueue) -> int:
    return queue.observe().redis_kept_bytes
