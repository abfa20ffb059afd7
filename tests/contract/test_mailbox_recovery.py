"""What a worker died with, or its engine failed on: the guilty request is given up, and no innocent one is.

test_queue_machine.py has the groups in which they run again.
"""

from __future__ import annotations

import pytest

from scheduler.errors import Cancelled, RequestFailed
from tests.mailbox_house import AMPLE, RedisHouse, SubmittingMailbox, a_request, an_answer, answer, take


def nothing_is_reserved(api: SubmittingMailbox) -> bool:
    status = api.status()
    return (status.reserved_requests, status.reserved_tokens, status.queue_depth) == (0, 0, 0)


def test_beside_suspects_that_run_nothing_is_begun_and_behind_them_all_that_waits(house: RedisHouse) -> None:
    api, one = house.api(), house.worker()
    api.submit_all([a_request(name) for name in "abcd"])
    assert take(one) == ["a", "b", "c", "d"]
    house.kill(one)
    api.submit(a_request("fresh"))
    two = house.worker()

    assert take(two) == ["a", "b"]
    answer(two, "a")
    assert take(two) == [], "one of the group still runs"
    answer(two, "b")
    assert take(two) == ["c", "d"]
    answer(two, "c", "d")
    assert take(two) == ["fresh"]


@pytest.mark.parametrize(("number", "place", "most_deaths"), [(1, 0, 3), (2, 1, 4), (65, 32, 5)])
def test_a_request_that_kills_its_workers_takes_nobody_along(
    house: RedisHouse, number: int, place: int, most_deaths: int
) -> None:
    api, names = house.api(), [f"r{each:03}" for each in range(number)]
    poison = names[place]
    tickets = {name: api.submit(a_request(name)) for name in names}
    num_deaths = 0
    worker = house.worker()
    while (held := take(worker)) or api.status().queue_depth:
        if poison in held:
            num_deaths += 1
            house.kill(worker)
            worker = house.worker()
        elif held:
            answer(worker, *held)

    assert num_deaths == most_deaths
    with pytest.raises(RequestFailed, match="gave up after 3 attempts"):
        api.wait(tickets.pop(poison))
    assert [api.wait(ticket) for ticket in tickets.values()] == [an_answer(name) for name in tickets]
    assert nothing_is_reserved(api)


def test_what_an_engine_failed_on_comes_again_as_if_the_worker_had_died(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    done, *others, gone = [api.submit(a_request(name)) for name in ("done", "a", "b", "gone")]
    assert take(worker) == ["done", "a", "b", "gone"]
    api.cancel("gone")

    worker.give_back([an_answer("done")])
    found = []
    for _ in others:
        (delivery,) = worker.exchange((), AMPLE).deliveries
        found.append(delivery.request.request_id)
        answer(worker, delivery.request.request_id)

    assert found == ["a", "b"]
    assert [api.wait(ticket).request_id for ticket in (done, *others)] == ["done", "a", "b"]
    with pytest.raises(Cancelled):
        api.wait(gone)
    assert nothing_is_reserved(api)
