"""A worker whose process has ended on this machine: the kernel knows it, and its lease need not run out."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from redis import Redis

from tests.mailbox_house import RedisHouse, a_request, answer, eventually, take, take_one
from worker.mailbox import heartbeat, worker_end
from worker.mailbox.heartbeat import has_ended, new_worker_name
from worker.mailbox.protocol import BEAT_S

LONG_S = 600.0  # no lease runs out here


def name_of(pid: int, place: str | None = None) -> str:
    """As a worker in that process would be called, here or at another place."""
    host, _, end = new_worker_name().rsplit("-", 2)
    return f"{host}-{pid}-{end if place is None else place + end[6:]}"


@pytest.fixture
def ended_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_a_process_that_lives_has_not_ended() -> None:
    assert not has_ended(new_worker_name())


def test_a_process_that_was_waited_for_has_ended(ended_pid: int) -> None:
    assert has_ended(name_of(ended_pid))


def test_a_process_whose_parent_has_not_looked_yet_has_ended() -> None:
    process = subprocess.Popen(["true"])
    eventually(lambda: " Z " in Path(f"/proc/{process.pid}/stat").read_text())

    assert has_ended(name_of(process.pid))
    process.wait()


@pytest.mark.parametrize("place", ["000000", ""])
def test_of_a_process_elsewhere_nothing_is_known(ended_pid: int, place: str) -> None:
    """Another machine or container, and a worker of an earlier version, whose name does not say where it runs."""
    assert not has_ended(name_of(ended_pid, place))


def test_of_a_machine_that_is_a_clone_of_this_one_under_another_name_nothing_is_known(
    ended_pid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(heartbeat.socket, "gethostname", lambda: "clone")
        heartbeat._place.cache_clear()
        name = name_of(ended_pid)
    heartbeat._place.cache_clear()

    assert not has_ended(name)


@pytest.mark.parametrize("name", ["", "x", "-1-", "a-b-c", "host-99999999999999999999-abcdefabcdef", "\ufffd-0-"])
def test_a_name_that_is_none_of_ours_has_not_ended(name: str) -> None:
    assert not has_ended(name)


def test_the_work_of_a_process_that_has_ended_is_taken_back_while_its_lease_lasts(
    house: RedisHouse, redis_url: str, ended_pid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_end, "LEASE_S", LONG_S)
    with monkeypatch.context() as patch:
        patch.setattr(worker_end, "new_worker_name", lambda: name_of(ended_pid))
        api, dead = house.api(), house.worker(is_fresh=lambda: False)
    api.submit(a_request("a"))
    assert take(dead) == ["a"]

    living = house.worker()

    assert take_one(living).request.request_id == "a"
    answer(living, "a")
    with Redis.from_url(redis_url, decode_responses=True) as client:
        assert dead.name not in client.smembers("rq:workers")


def test_a_loop_that_hangs_as_another_worker_dies_has_all_of_its_time(
    house: RedisHouse, ended_pid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next beat after a death comes at once, and a worker ends after so many beats without an iteration."""
    monkeypatch.setattr(worker_end, "LEASE_S", LONG_S)
    with monkeypatch.context() as patch:
        patch.setattr(worker_end, "new_worker_name", lambda: name_of(ended_pid))
        house.worker(is_fresh=lambda: False)
    asked_s: list[float] = []

    house.worker(is_fresh=lambda: bool(asked_s.append(time.monotonic())))
    eventually(lambda: len(asked_s) > 2)

    assert asked_s[2] - asked_s[0] > BEAT_S


def test_what_a_living_process_holds_is_its_own_while_its_lease_lasts(
    house: RedisHouse, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_end, "LEASE_S", LONG_S)
    api, silent = house.api(), house.worker(is_fresh=lambda: False)
    api.submit(a_request("a"))
    assert take(silent) == ["a"]
    other = house.worker()

    with Redis.from_url(redis_url, decode_responses=True) as client:
        beats = {client.hget(f"rq:worker:{other.name}", "last_heartbeat")}
        eventually(lambda: beats.add(client.hget(f"rq:worker:{other.name}", "last_heartbeat")) or len(beats) > 3)

        assert client.zrange("rq:wip:correct", 0, -1) == [f"a:{silent.name}"]
