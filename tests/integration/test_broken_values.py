"""Whatever one value in Redis becomes, no script fails: it harms at most its own request, or its own number."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain

import pytest
from redis import Redis

from scheduler.capacity.measure import measure
from scheduler.messages import Completion, FinishReason, WireError
from scheduler.settings import Settings
from tests.mailbox_house import AMPLE, a_request
from tests.recorded_requests import a_record
from tests.scripted_queue import ScriptedQueue
from worker.queue import formats
from worker.queue.api_link import enqueue_command
from worker.queue.connection import Address, Command, RedisConnection, script
from worker.queue.heartbeat import Reporter
from worker.queue.learners import Answered, Learners
from worker.queue.protocol import READY_WITHIN_S
from worker.queue.redis_observer import _found_of, observed_of
from worker.queue.status_client import status_of

Commands = list[tuple[bytes | str | float, ...]]
JUNK = (b"abc", b"nan", b"inf", b"-1e300", b"1e20", b"\xff\xfe")
NO_IDS = (b"a b", b"../a", b"x" * 129, b'{"done": 1}', b'{"at_s": "x", "done": 1, "iterations": 3}', b'["done"]')
LONGEST = "waiting".ljust(128, "-")
ENDS = dict.fromkeys(["dead", "done", "read", "running", "kept", "claimed", LONGEST, "later"], b"done")
ENDS |= {"gone": b"canceled", "leaves": b"canceled"}
ADDED = {b"list": ("RPUSH", "{}"), b"set": ("SADD", "{}"), b"zset": ("ZADD", "{}", 1e12), b"string": ("SET", "{}")}


@pytest.fixture
def at_work(queue: ScriptedQueue) -> dict[bytes, bytes]:
    """Redis with a request in every state, as keys and what RESTORE takes."""
    queue.report(Reporter(is_api=True), prompt_tokens=3, iteration__n=2, rejected__queue_full=1)
    queue.accept("dead")
    queue.enqueue([a_request("done")], a_record("done", "key"))
    queue.drain("worker")
    queue.finish("worker", "done")
    queue.finish("worker", "dead", reason=FinishReason.ERROR)
    queue.accept("read")
    queue.drain("reader")
    queue.run(script("hand_over", "reader", 60_000, "read", b"keys and values"))
    queue.accept("running")
    queue.enqueue([a_request("kept")], a_record("kept", "other"))
    queue.drain("worker")
    queue.accept("claimed")
    queue.claim("worker")
    queue.accept(LONGEST, "leaves", "gone")
    queue.cancel("gone")
    queue.enqueue([a_request("later")], a_record("later", is_async=True))
    queue.run(learn("a", "b"))
    for name in NO_IDS:
        queue.client.hset(b"rq:job:" + name, mapping={"status": "queued", "data": "[]"})
    for worker, role in (("writer", "decode"), ("reader", "prefill"), ("worker", "all")):
        queue.beat(worker, 1, "1.0" if role == "all" else f"1.0 {role}", role=role, kv_budget_tokens=400)
    return {key: queue.client.dump(key) for key in queue.client.scan_iter("[mr]*")}


def learn(*learners: str) -> Command:
    """What a new replica reports of an answer to each; four have room."""
    replica = Learners(lambda _: None, 4 * 65_536)
    for learner in learners:
        replica.note(Answered(learner, "1", "", True, False, 1, (("habit", "go"),)))
    return replica.command()


def breakages(client: Redis, key: bytes) -> Iterator[Commands]:
    kind = client.type(key)
    yield [("DEL", key), ("SET", key, "junk") if kind != b"string" else ("LPUSH", key, "junk")]
    yield [("DEL", key)]
    for junk in (*JUNK, *(NO_IDS if kind == b"list" else ())):
        if kind == b"hash":
            yield [("HSET", key, field, junk) for field in [*client.hkeys(key), junk]]
        elif kind in ADDED:
            name, _, *score = ADDED[kind]
            yield [(name, key, *score, junk)]


def commands(queue: ScriptedQueue) -> list[Command]:
    """One of each script that writes."""
    answers = [Completion(name, FinishReason.STOP, (7, 1)) for name in ("running", "kept")]
    words = [(*formats.finish_arguments(one), queue.tickets[one.request_id]) for one in answers]
    new = [a_record("new", "other key"), a_record("newer", is_async=True, client="1", limits="5 0")]
    sent = [replace(one, requests=(a_request(one.request_id),), within_s=600.0) for one in new]
    return [
        enqueue_command("api", queue.limits, [formats.encode_submission(one, queue.limits) for one in sent]),
        script("finish", "worker", *chain.from_iterable(words)),
        script("drain", "worker", 1000, 1, 1000, 64, 1, 1, "0", 2),
        script("cancel", "", "cancelled", "leaves"),
        script("resync", "worker", 1000, 1, "running", "kept"),
        script("hand_over", "reader", 60_000),
        script("progress", "worker", "running", b"so far"),
        script("leave", "worker", "1"),
        script("beat", "other", 1000, "0.0"),
        script("beat", "other", 1000, "0.0", 0, "1.0 decode", "role", "decode"),
        script("report", "process", 1, "1", "prompt_tokens", "3"),
        script("revive", "dead"),
        script("drop", "gone"),
        learn("b", "c", "d"),
        script("learner", "a"),
        script("forget", "a", 2),
        script("leave", "other"),
    ]


def look(queue: ScriptedQueue) -> None:
    seen = observed_of(queue.run(script("observe", READY_WITHIN_S)))
    json.dumps(seen.totals | seen.counts, allow_nan=False)
    assert 0 <= measure(seen, Settings()).utilization < 10
    assert status_of(queue.run(script("status", READY_WITHIN_S))).redis_ok
    for learner in ("b", "d"):
        found = queue.run(script("learner", learner))
        fields = dict(zip(found[::2], found[1::2], strict=True))
        assert int(fields[b"corrections"]) > 0 and int(fields[b"n:habit"]) > 0
    for name in ("done", "kept", "later"):
        found = _found_of(queue.run(script("find", name)))
        assert found is None or found.jobs


def end_all(queue: ScriptedQueue) -> dict[str, bytes]:
    """Workers leave, and one ends all that is left. Return how each request ended."""
    for worker in ("worker", "reader", "writer", "other"):
        queue.run(script("leave", worker))
    for turn in range(12):
        queue.beat("last", rate="1.0", role="all")
        if turn and not queue.client.hlen("miniserve:reservations"):
            break
        queue.resync("last")
        rows, _ = queue.deliveries("last", AMPLE, 0)
        assert not {row[0] for row in rows} & set(NO_IDS)
        for request_id, *fields, _, _ in rows:
            with suppress(WireError):  # of its own data
                formats.decode_delivery(request_id.decode(), fields)
        queue.finish("last", *[row[0].decode() for row in rows])
    assert queue.client.hlen("miniserve:reservations") == 0
    return dict(zip(ENDS, [state for state, _ in queue.run(script("check", *ENDS))], strict=True))


def test_no_broken_value_stops_a_script_or_harms_another_request(
    queue: ScriptedQueue, at_work: dict[bytes, bytes]
) -> None:
    some, turn = commands(queue), 0
    for key in [*(key for key in at_work if not key.endswith(NO_IDS)), b"miniserve:live"]:
        of_others = {name: end for name, end in ENDS.items() if name.encode() not in key}
        restore(queue.client, at_work, [])
        for number, breakage in enumerate(list(breakages(queue.client, key))):
            # Each script is the first that meets a shared key of another type.
            for _ in some if of_others == ENDS and number == 0 else some[:1]:
                turn = (turn + 1) % len(some)
                restore(queue.client, at_work, breakage)
                for command in [*some[turn:], *some[:turn]]:
                    queue.run(command)
                look(queue)
                ends = end_all(queue)
                assert {name: ends[name] for name in of_others} == of_others, (breakage, some[turn])


def restore(client: Redis, values: dict[bytes, bytes], breakage: Commands) -> None:
    client.flushdb()
    with client.pipeline(transaction=False) as pipeline:
        for key, value in values.items():
            pipeline.restore(key, 0, value)
        for words in breakage:
            pipeline.execute_command(*words)
        pipeline.execute()


def test_nothing_is_put_away_because_a_user_may_not_ask_for_its_length(queue: ScriptedQueue) -> None:
    queue.accept("a")
    queue.client.acl_setuser("narrow", enabled=True, nopass=True, keys=["*"], commands=["+@all", "-llen"])
    try:
        port = queue.client.get_connection_kwargs()["port"]
        RedisConnection(Address(f"redis://narrow:x@127.0.0.1:{port}")).ask(script("observe", "3"))
    finally:
        queue.client.acl_deluser("narrow")

    assert queue.client.llen("rq:queue:correct") == 1
