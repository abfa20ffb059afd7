"""Answers: published, stored, the first one counts; who waits hears of each end, and every reservation is released."""

from __future__ import annotations

import threading

import pytest

from scheduler.errors import Cancelled, RequestFailed
from scheduler.messages import Completion, FinishReason, Timings
from tests.mailbox_house import AMPLE, RedisHouse, SubmittingMailbox, a_request, an_answer, eventually, take
from worker.queue import api_link


def nothing_is_reserved(api: SubmittingMailbox) -> bool:
    status = api.status()
    return (status.reserved_requests, status.reserved_tokens, status.queue_depth) == (0, 0, 0)


def test_an_answer_reaches_who_waits(house: RedisHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_link, "POLL_S", 3600.0)
    api, worker = house.api(), house.worker()
    completion = Completion("a", FinishReason.LENGTH, (5, 6, 7), Timings(0.1, 0.002, 0.03))
    ticket = api.submit(a_request("a"))
    assert take(worker) == ["a"]
    late = threading.Timer(0.05, worker.exchange, ([completion], AMPLE, 1))
    late.start()

    assert api.wait(ticket) == completion
    late.join()  # the answer is heard before the exchange is over, and a worker's end serves one thread
    assert nothing_is_reserved(api)


def test_of_two_answers_the_first_one_counts_also_for_who_asks_later(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    ticket = api.submit(a_request("a"))
    assert take(worker) == ["a"]

    worker.exchange([an_answer("a", 1)], AMPLE)
    worker.exchange([an_answer("a", 2)], AMPLE)

    assert api.wait(ticket).output_ids == (1,)
    assert worker.num_duplicates == 1
    assert api.wait(api.submit(a_request("a"))).output_ids == (1,)
    assert take(worker) == []


def test_a_failed_request_says_so_and_is_released(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    ticket = api.submit(a_request("a"))
    assert take(worker) == ["a"]

    worker.exchange([Completion("a", FinishReason.ERROR, error="the tokenizer does not match")], AMPLE)

    with pytest.raises(RequestFailed, match="the tokenizer does not match"):
        api.wait(ticket)
    assert nothing_is_reserved(api)


@pytest.mark.parametrize("runs", [False, True])
def test_a_cancelled_request_is_not_computed_and_its_client_is_told(house: RedisHouse, runs: bool) -> None:
    api, worker = house.api(), house.worker()
    ticket = api.submit(a_request("a"))
    assert not runs or take(worker) == ["a"]

    api.cancel("a")

    if runs:
        assert eventually(lambda: worker.exchange((), AMPLE).cancelled_ids) == ("a",)
        worker.exchange([an_answer("a")], AMPLE)  # too late
    with pytest.raises(Cancelled):
        api.wait(ticket)
    assert take(worker) == []
    assert nothing_is_reserved(api) and worker.num_duplicates == 0
