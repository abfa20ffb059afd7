"""What a kept request answers in each of its states, with a real API process. The test itself plays the worker."""

from __future__ import annotations

from dataclasses import replace

from api.grammar.edit_script import EOS_ID
from scheduler.messages import NO_CAPACITY, Timings
from tests.mailbox_house import RedisHouse, an_answer, eventually, take
from tests.running_system import ApiProcess, Reply, send

JSON = {"Content-Type": "application/json"}
BODY = b'{"sentence": "He came. She left."}'


def status_of(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.slug if reply.status >= 400 else reply.body["status"]


def test_a_request_is_called_off_while_it_waits_or_runs(api: ApiProcess, house: RedisHouse) -> None:
    worker, outside = house.worker(), house.api()
    for is_running in (False, True):
        accepted = send(api.url, "POST", "/correct", BODY, JSON | {"Prefer": "wait=5, respond-async"})
        location = accepted.headers["Location"]
        if is_running:
            assert len(eventually(lambda: take(worker))) == 2

        told = [status_of(send(api.url, method, location)) for method in ("GET", "DELETE")]
        assert (accepted.status, location) == (202, f"/requests/{accepted.body['request_id']}")
        assert (accepted.headers["Preference-Applied"], accepted.headers["Retry-After"]) == ("respond-async", "1")
        eventually(lambda: worker.exchange((), NO_CAPACITY) and not outside.status().reserved_requests)

        wanted = [(202, "running"), (200, "cancelling")] if is_running else [(202, "queued"), (200, "cancelled")]
        assert told == wanted
        assert status_of(send(api.url, "DELETE", location)) == (200, "cancelled")
        assert status_of(send(api.url, "GET", location)) == (409, "cancelled")


def test_an_answer_has_the_times_of_its_run_whoever_asks_and_is_not_there_before_all_of_it_is(
    api: ApiProcess, house: RedisHouse
) -> None:
    headers = JSON | {"Prefer": "respond-async", "Idempotency-Key": "once"}
    location = send(api.url, "POST", "/correct", BODY, headers).headers["Location"]
    worker = house.worker()
    taken: list[str] = []
    eventually(lambda: taken.extend(take(worker)) or len(taken) == 2)
    one, two = (replace(an_answer(each, EOS_ID), timings=Timings(2.0, 3.0, 4.0)) for each in taken)

    worker.exchange([one], NO_CAPACITY)
    half = status_of(send(api.url, "GET", location))
    worker.exchange([two], NO_CAPACITY)
    found, repeated = send(api.url, "GET", location), send(api.url, "POST", "/correct", BODY, headers)

    assert half == (202, "running")
    assert found.body["corrected"] == "He came. She left."
    wanted = "queue;dur=2000.0, prefill;dur=3000.0, decode;dur=4000.0, total;dur=9000.0"
    assert [reply.headers["Server-Timing"] for reply in (found, repeated)] == [wanted] * 2
