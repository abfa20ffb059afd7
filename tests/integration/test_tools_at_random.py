"""Clients, workers and RQ's tools in any order: at the end nothing is reserved, and every account balances."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from scheduler.messages import FinishReason
from tests.mailbox_house import a_request
from tests.recorded_requests import a_record
from tests.scripted_queue import START_S, ScriptedQueue
from worker.queue.connection import script
from worker.queue.protocol import ReplyMode

QUEUES, REGISTRIES = ("rq:queue:correct", "rq:queue:correct-async"), ("failed", "finished", "canceled")
STEPS = (
    "accept accept async keyed drain drain finish fail cancel die beat revive drop resync leave wait "
    "rq-fail rq-stop rq-requeue rq-cancel rq-delete"
).split()
NAMES, WORKERS = ("a", "b", "c", "d"), ("one", "two")


def send(queue: ScriptedQueue, step: str, name: str, client: str) -> None:
    is_known = queue.client.exists(f"rq:job:{name}") > 0
    if not is_known and queue.client.hexists("miniserve:reservations", name):
        return  # deleted by hand a moment ago: no other request ever has its id
    manner = ReplyMode.ASYNC if step == "async" else ReplyMode.WAIT
    record = a_record(name, f"key of {name}" if step == "keyed" else "")
    wanted = replace(record, requests=(a_request(name),), client=client, manner=manner, may_be_known=is_known)
    queue.send([wanted])


def end(queue: ScriptedQueue, worker: str, how: str) -> None:
    queue.run(script("leave", worker)) if how == "leave" else queue.die(worker)
    queue.client.hdel(f"miniserve:inbox:{worker}", "epoch")


def change_with_rq(queue: ScriptedQueue, step: str, name: str) -> None:
    """As RQ does it, without our scripts."""
    client, job = queue.client, f"rq:job:{name}"
    status = client.hget(job, "status")
    if step == "rq-requeue" and status == b"failed":
        client.zrem("rq:failed:correct", name)
        client.hset(job, "status", "queued")
        client.rpush(QUEUES[0], name)
    elif step == "rq-delete" and status:
        client.delete(job, f"rq:results:{name}")
        for registry in REGISTRIES:
            client.zrem(f"rq:{registry}:correct", name)
        for line in QUEUES:
            client.lrem(line, 0, name)
    elif step in ("rq-fail", "rq-stop", "rq-cancel") and sum(client.lrem(line, 0, name) for line in QUEUES):
        registry = "canceled" if step == "rq-cancel" else "failed"
        client.hset(job, "status", "stopped" if step == "rq-stop" else registry)
        client.zadd(f"rq:{registry}:correct", {name: START_S + 10_000})


def take(queue: ScriptedQueue, step: str, dice: random.Random) -> None:
    name, worker = dice.choice(NAMES), dice.choice(WORKERS)
    if step in ("accept", "async", "keyed"):
        send(queue, step, name, dice.choice(["", "7", "8"]))
    elif step in ("die", "leave"):
        end(queue, worker, step)
    elif step in ("finish", "fail"):
        queue.finish(worker, name, reason=FinishReason.STOP if step == "finish" else FinishReason.ERROR)
    elif step in ("revive", "drop"):
        queue.run(script(step, name))
    elif step == "resync":
        queue.run(script("resync", worker, 1000, 1))
    elif step == "wait":
        queue.now_s += dice.choice([0.1, 5.0])
    elif step in ("drain", "beat"):
        getattr(queue, step)(worker)
    elif step == "cancel":
        queue.cancel(name)
    else:
        change_with_rq(queue, step, name)


def come_to_an_end(queue: ScriptedQueue) -> None:
    for _ in range(6):
        for worker in WORKERS:
            end(queue, worker, "die")
        queue.now_s += 5.0
        queue.beat("last")
        if names := queue.drain("last"):
            queue.finish("last", *names)
    queue.beat("last")
    queue.beat("last")


@pytest.mark.parametrize("seed", range(48))
def test_nothing_stays_reserved_and_every_account_balances_whatever_rqs_tools_do(
    queue: ScriptedQueue, seed: int
) -> None:
    dice = random.Random(seed)

    for step in dice.choices(STEPS, k=dice.randint(10, 50)):
        take(queue, step, dice)
    come_to_an_end(queue)

    queue.observe()
    counts = {name.decode(): float(value) for name, value in queue.client.hgetall("miniserve:counts").items()}
    assert not queue.client.exists("miniserve:reservations", "rq:wip:correct", *QUEUES)
    assert not counts.get("reserved_tokens")
