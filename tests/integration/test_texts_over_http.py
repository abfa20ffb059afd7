"""Texts of several sentences through a real API process and Redis. The test itself plays the worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from redis import Redis

from api.grammar.edit_script import EOS_ID
from ops.run.embedded_redis import EmbeddedRedis
from scheduler.messages import NO_CAPACITY, Completion, FinishReason
from tests.integration.test_leaving_clients import ask, reset
from tests.mailbox_house import AMPLE, RedisHouse, SubmittingMailbox, an_answer, eventually, ids_of, take
from tests.running_system import ApiProcess, post_sentence
from worker.queue.worker_end import WorkerMailbox

TEXT = "He came. She left!\n\nThey  stayed"


@pytest.fixture
def worker(house: RedisHouse) -> WorkerMailbox:
    return house.worker()


@pytest.fixture
def outside(house: RedisHouse) -> SubmittingMailbox:
    """To look at the queue, and to fill it."""
    return house.api()


@pytest.fixture(scope="module")
def api(redis_server: EmbeddedRedis) -> Iterator[ApiProcess]:
    with ApiProcess(redis_server.url, "--max-queue-requests", "8") as process:
        yield process


def take_all(worker: WorkerMailbox, number: int) -> list[str]:
    taken: list[str] = []
    eventually(lambda: taken.extend(ids_of(worker.exchange((), AMPLE))) or len(taken) == number)
    return taken


def is_empty(outside: SubmittingMailbox) -> bool:
    status = outside.status()
    return (status.reserved_requests, status.reserved_tokens, status.queue_depth) == (0, 0, 0)


def test_the_sentences_run_side_by_side_under_the_id_of_the_answer(
    api: ApiProcess, worker: WorkerMailbox, outside: SubmittingMailbox
) -> None:
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(post_sentence, api.url, TEXT)
        taken = take_all(worker, 3)
        worker.exchange([an_answer(request_id, EOS_ID) for request_id in reversed(taken)], NO_CAPACITY)
        reply = waiting.result()

    assert (reply.status, reply.body["corrected"], reply.body["edits"]) == (200, TEXT, [])
    assert taken == [f"{reply.body['request_id']}-{number}" for number in (1, 2, 3)]
    assert is_empty(outside)


def test_a_client_that_hangs_up_cancels_every_sentence(
    api: ApiProcess, worker: WorkerMailbox, outside: SubmittingMailbox
) -> None:
    connection = ask(api, body=json.dumps({"sentence": TEXT}))
    taken = take_all(worker, 3)
    worker.exchange([an_answer(taken[1], EOS_ID)], NO_CAPACITY)
    reset(connection)

    told: set[str] = set()
    eventually(lambda: told.update(worker.exchange((), NO_CAPACITY).cancelled_ids) or len(told) == 2)
    worker.exchange((), NO_CAPACITY)

    assert told == {taken[0], taken[2]}
    eventually(lambda: is_empty(outside))


def test_a_sentence_that_fails_is_the_answer_and_the_others_are_cancelled(
    api: ApiProcess, worker: WorkerMailbox, outside: SubmittingMailbox
) -> None:
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(post_sentence, api.url, TEXT)
        taken = take_all(worker, 3)
        failure = Completion(taken[2], FinishReason.ERROR, error="it broke")
        told = set(worker.exchange([failure], NO_CAPACITY).cancelled_ids)  # the others may follow at once
        reply = waiting.result()

    assert (reply.status, reply.slug) == (502, "request-failed")
    eventually(lambda: told.update(worker.exchange((), NO_CAPACITY).cancelled_ids) or len(told) == 2)
    worker.exchange((), NO_CAPACITY)
    eventually(lambda: is_empty(outside))


def test_a_full_queue_refuses_the_whole_text_and_keeps_nothing_of_it(
    api: ApiProcess, worker: WorkerMailbox, outside: SubmittingMailbox, redis_url: str
) -> None:
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(post_sentence, api.url, "He came. " * 6)
        eventually(lambda: outside.status().queue_depth == 6)

        reply = post_sentence(api.url, TEXT)

        assert (reply.status, reply.slug) == (503, "queue-full")
        assert "6 of 8 requests" in reply.body["detail"]
        assert int(reply.headers["Retry-After"]) >= 1
        with Redis.from_url(redis_url) as client:
            assert not list(client.scan_iter(f"rq:job:{reply.body['request_id']}*"))
        taken = take_all(worker, 6)
        worker.exchange([an_answer(request_id, EOS_ID) for request_id in taken], NO_CAPACITY)
        assert waiting.result().status == 200
    assert take(worker) == []
    assert is_empty(outside)


def test_a_text_that_the_queue_could_never_hold_is_to_be_sent_in_parts(
    api: ApiProcess, outside: SubmittingMailbox
) -> None:
    reply = post_sentence(api.url, "He came. " * 9)

    assert (reply.status, reply.slug) == (422, "invalid-request")
    assert "holds 9 sentences" in reply.body["detail"] and "at most 8 sentences" in reply.body["detail"]
    assert is_empty(outside)
