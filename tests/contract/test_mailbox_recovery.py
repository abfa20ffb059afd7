"""What a worker died with, or its engine failed on: the guilty request is given up, and no innocent one is.

test_queue_machine.py has the groups in which they run again.
"""

from __future__ import annotations

import pytest

from scheduler.errors import RequestFailed
from tests.mailbox_house import RedisHouse, SubmittingMailbox, a_request, an_answer, answer, take


def nothing_is_reserved(api: SubmittingMailbox) -> bool:
    status = api.status()
    return (status.reserved_requests, api.observe().reserved_tokens, status.queue_depth) == (0, 0, 0)


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
