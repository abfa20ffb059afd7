"""What a worker died with: it comes back in groups, the guilty one is given up, and no innocent one is."""

from __future__ import annotations

import pytest

from scheduler.errors import Cancelled, RequestFailed
from scheduler.messages import FreeCapacity
from tests.mailbox_house import (
    AMPLE,
    RedisHouse,
    SubmittingMailbox,
    a_request,
    an_answer,
    answer,
    eventually,
    ids_of,
    take,
)


def nothing_is_reserved(api: SubmittingMailbox) -> bool:
    status = api.status()
    return (status.reserved_requests, status.reserved_tokens, status.queue_depth) == (0, 0, 0)


def names_of(number: int) -> list[str]:
    return [f"r{each:03}" for each in range(number)]


def submit_and_die(house: RedisHouse, names: list[str]) -> SubmittingMailbox:
    """All of them run in one worker, which dies."""
    api, worker = house.api(), house.worker()
    api.submit_all([a_request(name) for name in names])
    assert take(worker) == names
    house.kill(worker)
    return api


@pytest.mark.parametrize(
    ("number", "sizes"), [(2, [1, 1]), (3, [2, 1]), (5, [2, 2, 1]), (16, [4, 4, 4, 4]), (32, [6, 6, 6, 6, 6, 2])]
)
def test_what_a_worker_died_with_comes_back_in_groups_of_the_root_of_its_number(
    house: RedisHouse, number: int, sizes: list[int]
) -> None:
    submit_and_die(house, names_of(number))
    two, groups = house.worker(), []

    for _ in sizes:
        groups.append(take(two))
        answer(two, *groups[-1])

    assert [len(group) for group in groups] == sizes
    assert sum(groups, []) == names_of(number)


def test_a_group_that_dies_again_comes_back_one_by_one_before_the_other_groups(house: RedisHouse) -> None:
    submit_and_die(house, names_of(9))
    two = house.worker()
    assert take(two) == ["r000", "r001", "r002"]
    house.kill(two)
    three, found = house.worker(), []

    for _ in range(5):
        found.append(take(three))
        answer(three, *found[-1])

    assert found == [["r000"], ["r001"], ["r002"], ["r003", "r004", "r005"], ["r006", "r007", "r008"]]


def test_beside_a_group_that_runs_nothing_is_begun_and_behind_the_last_one_all_that_waits(house: RedisHouse) -> None:
    api = submit_and_die(house, names_of(4))
    api.submit_all([a_request(name) for name in ("fresh", "also")])
    two = house.worker()

    assert take(two) == ["r000", "r001"]
    assert take(two) == []
    answer(two, "r000")
    assert take(two) == [], "one of the group still runs"
    answer(two, "r001")
    assert take(two) == ["r002", "r003"]
    answer(two, "r002", "r003")
    assert take(two) == ["fresh", "also"]


def test_a_group_waits_until_its_worker_holds_nothing_else(house: RedisHouse) -> None:
    api, one, two = house.api(), house.worker(), house.worker()
    api.submit_all([a_request(name) for name in ("a", "b", "c")])
    assert take(one, free_tokens=42) == ["a"]
    assert take(two, free_tokens=42) == ["b"]
    house.kill(one)

    assert take(two) == []
    answer(two, "b")
    assert take(two) == ["a"]


def test_two_workers_that_recover_together_run_a_group_each(house: RedisHouse) -> None:
    submit_and_die(house, names_of(9))
    two, three = house.worker(), house.worker()

    assert take(two) == ["r000", "r001", "r002"]
    assert take(three) == ["r003", "r004", "r005"]
    answer(three, "r003", "r004", "r005")
    assert take(three) == ["r006", "r007", "r008"]


def test_two_workers_that_die_together_leave_groups_of_their_own(house: RedisHouse) -> None:
    api, one, two = house.api(), house.worker(), house.worker()
    api.submit_all([a_request(name) for name in names_of(8)])
    held = [take(one), take(two)]
    house.kill(one)
    house.kill(two)
    three, found = house.worker(), []

    while group := take(three):
        found.append(group)
        answer(three, *group)

    assert sorted(sum(found, [])) == names_of(8)
    assert all(len(group) <= 2 and any(set(group) <= set(some) for some in held) for group in found[:-1])


def test_a_group_that_does_not_fit_comes_in_parts(house: RedisHouse) -> None:
    submit_and_die(house, names_of(9))
    two = house.worker()

    assert ids_of(two.exchange((), FreeCapacity(2 * 42))) == ["r000", "r001"]
    answer(two, "r000", "r001")
    assert take(two) == ["r002"]
    answer(two, "r002")
    assert take(two) == ["r003", "r004", "r005"]


def test_suspects_that_are_cancelled_or_late_do_not_run_and_the_others_of_their_group_do(house: RedisHouse) -> None:
    api, one = house.api(), house.worker()
    api.submit_all([a_request(name) for name in ("a", "cancelled", "b")])
    late = api.submit(a_request("late"), within_s=600.0)
    assert take(one) == ["a", "cancelled", "b", "late"]
    house.kill(one)
    api.cancel("cancelled")
    with pytest.raises(Exception, match="within 0.1 s"):
        api.wait(late, 0.1)
    two = house.worker()

    assert take(two) == ["a"]
    answer(two, "a")
    assert take(two) == ["b"]
    answer(two, "b")
    eventually(lambda: nothing_is_reserved(api))


def test_what_leaves_with_its_worker_stays_a_suspect(house: RedisHouse) -> None:
    api = submit_and_die(house, names_of(4))
    api.submit(a_request("fresh"))
    two = house.worker()
    assert take(two) == ["r000", "r001"]
    two.close()
    three = house.worker()

    assert take(three) == ["r000", "r001"]


def test_a_death_in_company_counts_as_no_attempt(house: RedisHouse) -> None:
    submit_and_die(house, names_of(9))
    two = house.worker()
    assert len(take(two)) == 3
    house.kill(two)
    three = house.worker()

    (delivery,) = three.exchange((), AMPLE).deliveries
    house.kill(three)
    (again,) = house.worker().exchange((), AMPLE).deliveries

    assert (delivery.request.request_id, delivery.attempt) == ("r000", 1)
    assert (again.request.request_id, again.attempt) == ("r000", 2)


@pytest.mark.parametrize(("number", "place", "most_deaths"), [(1, 0, 3), (2, 1, 4), (5, 4, 4), (65, 32, 5)])
def test_a_request_that_kills_its_workers_takes_nobody_along(
    house: RedisHouse, number: int, place: int, most_deaths: int
) -> None:
    api, names = house.api(), names_of(number)
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
    for name in names:
        if name == poison:
            with pytest.raises(RequestFailed, match="gave up after 3 attempts"):
                api.wait(tickets[name])
        else:
            assert api.wait(tickets[name]) == an_answer(name)
    assert nothing_is_reserved(api)


def test_what_an_engine_failed_on_comes_again_as_if_the_worker_had_died(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    done, *others = [api.submit(a_request(name)) for name in ("done", "a", "b")]
    assert take(worker) == ["done", "a", "b"]

    worker.give_back([an_answer("done")])
    found = []
    for _ in others:
        (delivery,) = worker.exchange((), AMPLE).deliveries
        found.append(delivery.request.request_id)
        answer(worker, delivery.request.request_id)

    assert found == ["a", "b"]
    assert [api.wait(ticket).request_id for ticket in (done, *others)] == ["done", "a", "b"]
    assert nothing_is_reserved(api)


def test_a_request_that_is_called_off_while_its_engine_fails_does_not_come_again(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    ticket = api.submit(a_request("a"))
    assert take(worker) == ["a"]
    api.cancel(ticket.request_id)

    worker.give_back([])

    assert take(worker) == []
    with pytest.raises(Cancelled):
        api.wait(ticket)
    assert nothing_is_reserved(api)


def test_a_request_whose_workers_die_three_times_is_a_dead_letter(house: RedisHouse) -> None:
    api = house.api()
    ticket = api.submit(a_request("deadly"))
    for attempt in (1, 2, 3):
        worker = house.worker()
        assert worker.exchange((), AMPLE).deliveries[0].attempt == attempt
        house.kill(worker)

    assert take(house.worker()) == []

    with pytest.raises(RequestFailed, match="gave up after 3 attempts"):
        api.wait(ticket)
    assert nothing_is_reserved(api)
