"""Calling requests off over HTTP, with a real API process and Redis. The test itself plays the worker."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from api.grammar.edit_script import EOS_ID
from scheduler.messages import NO_CAPACITY, Timings
from tests.mailbox_house import RedisHouse, an_answer, eventually, take
from tests.running_system import ApiProcess, Reply, send


def start(api: ApiProcess, sentence: bytes = b"He came.") -> str:
    headers = {"Content-Type": "application/json", "Prefer": "respond-async"}
    return send(api.url, "POST", "/correct", b'{"sentence": "' + sentence + b'"}', headers).headers["Location"]


def status_of(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.slug if reply.status >= 400 else reply.body["status"]


def test_a_queued_request_that_is_called_off_never_runs(api: ApiProcess, house: RedisHouse) -> None:
    location = start(api)

    told = [status_of(send(api.url, method, location)) for method in ("GET", "DELETE")]
    eventually(lambda: house.api().status().reserved_requests == 0)

    assert told == [(202, "queued"), (200, "cancelled")]
    assert status_of(send(api.url, "DELETE", location)) == (200, "cancelled")
    assert status_of(send(api.url, "GET", location)) == (409, "cancelled")
    assert take(house.worker()) == []


def test_a_running_request_that_is_called_off_leaves_its_worker_in_one_iteration(
    api: ApiProcess, house: RedisHouse
) -> None:
    worker, location = house.worker(), start(api)
    (request_id,) = eventually(lambda: take(worker))

    running = status_of(send(api.url, "GET", location))
    called_off = status_of(send(api.url, "DELETE", location))
    cancelled = eventually(lambda: worker.exchange((), NO_CAPACITY).cancelled_ids)
    worker.exchange((), NO_CAPACITY)

    assert (running, called_off) == ((202, "running"), (200, "cancelling"))
    assert status_of(send(api.url, "DELETE", location)) == (200, "cancelled")
    assert cancelled == (request_id,)
    assert house.api().status().reserved_tokens == 0


def test_a_client_that_waits_for_what_another_calls_off_is_told_so(api: ApiProcess, house: RedisHouse) -> None:
    worker, headers = house.worker(), {"Content-Type": "application/json", "Idempotency-Key": "mine"}
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(send, api.url, "POST", "/correct", b'{"sentence": "He came."}', headers)
        (request_id,) = eventually(lambda: take(worker))
        send(api.url, "DELETE", f"/requests/{request_id}")
        eventually(lambda: worker.exchange((), NO_CAPACITY).cancelled_ids)
        worker.exchange((), NO_CAPACITY)

        assert status_of(waiting.result()) == (409, "cancelled")


def test_an_answer_that_is_found_again_has_the_times_of_its_run(api: ApiProcess, house: RedisHouse) -> None:
    headers = {"Content-Type": "application/json", "Prefer": "respond-async", "Idempotency-Key": "once"}
    body = b'{"sentence": "He came."}'
    location = send(api.url, "POST", "/correct", body, headers).headers["Location"]
    worker = house.worker()
    (request_id,) = eventually(lambda: take(worker))
    answer = replace(an_answer(request_id, EOS_ID), timings=Timings(2.0, 3.0, 4.0))
    worker.exchange([answer], NO_CAPACITY)

    found, repeated = send(api.url, "GET", location), send(api.url, "POST", "/correct", body, headers)

    wanted = "queue;dur=2000.0, prefill;dur=3000.0, decode;dur=4000.0, total;dur=9000.0"
    assert [reply.headers["Server-Timing"] for reply in (found, repeated)] == [wanted] * 2


def test_a_text_whose_first_sentences_are_done_is_still_running(api: ApiProcess, house: RedisHouse) -> None:
    worker, location = house.worker(), start(api, b"He came. She left.")
    first, second = eventually(lambda: (taken := take(worker)) and len(taken) == 2 and taken)
    worker.exchange([an_answer(first, EOS_ID)], NO_CAPACITY)

    half = status_of(send(api.url, "GET", location))
    worker.exchange([an_answer(second, EOS_ID)], NO_CAPACITY)

    assert half == (202, "running")
    assert send(api.url, "GET", location).body["corrected"] == "He came. She left."
