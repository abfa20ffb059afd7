"""The short form of every fault drill but the soak: a real Redis, real processes, really killed.

What is a matter of time is not asked: it says as much about the machine as about us.
"""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from ops.drills.alerts import LOAD_ALERTS
from ops.drills.catalogue import DRILLS
from ops.drills.drill import Findings, Stage, hold
from ops.drills.rude_clients import ATTACKS
from ops.run import processes
from tests.chaos_times import TIMES
from tests.running_system import descendants, is_running, wait_until


def hold_quick(name: str) -> Findings:
    """Asserts all that is no matter of time."""
    result = hold(DRILLS[name], Stage(is_quick=True, seed=1))

    assert [check for check in result.findings.checks if not check.is_met and check.what not in TIMES] == []
    return result.findings


def test_killed_workers_lose_and_double_no_answer() -> None:
    assert hold_quick("kill-worker").details["kills"] >= 2


def test_a_series_of_killed_workers_fails_no_request() -> None:
    assert hold_quick("kill-series").details["kills"] == 4


@pytest.mark.alone
def test_a_request_survives_the_death_of_its_processes_at_single_commands() -> None:
    points = hold_quick("every-command").details["points"]

    # The number of a point is told beforehand; on a busy machine another command may have that number.
    assert points[0].startswith("worker 1: BLMOVE before")
    assert [(point.partition(":")[0], "before its reply" in point) for point in points] == [
        ("worker 1", True), ("worker 1", True), ("api 1", True), ("api 1", False),
    ]  # fmt: skip


def test_clients_of_a_killed_replica_get_the_same_answer_from_another_and_the_engine_runs_once() -> None:
    assert hold_quick("kill-api").details["sent_again"] > 0


def test_answers_arrive_although_the_subscription_is_cut_again_and_again() -> None:
    assert hold_quick("drop-subscriber").details["cuts"] >= 40


def test_no_client_loses_its_answer_when_redis_is_killed() -> None:
    assert hold_quick("kill-redis").details["kills"] == 2


def test_no_client_loses_its_answer_when_the_primary_is_killed_and_its_replica_takes_over() -> None:
    assert hold_quick("kill-primary").details["kills"] == 1


def test_four_replicas_never_exceed_the_bound_at_ten_times_the_load() -> None:
    details = hold_quick("overload").details

    assert details["most_reserved_requests"] == details["bound"]


def test_many_more_clients_than_the_queue_holds_are_refused_and_nobody_is_lost() -> None:
    details = hold_quick("refusals").details

    assert details["most_reserved_requests"] <= details["bound"]
    assert details["first_wave_refusals"] > 0


def test_a_redis_that_fills_up_with_what_nobody_waits_for_answers_those_who_wait() -> None:
    details = hold_quick("fill-memory").details

    assert details["most_used_mib"] <= details["bound_mib"]


def test_a_greedy_client_is_refused_and_no_other_is() -> None:
    assert hold_quick("greedy-client").details["flood_statuses"].get("500", 0) == 0


def test_a_good_client_gets_all_of_its_answers_beside_every_kind_of_rude_one() -> None:
    details = hold_quick("attacks").details

    assert {kind for kind in ATTACKS if details[kind]["rounds"] == 0} == set()


def test_clients_that_leave_free_what_they_held_and_the_others_are_answered() -> None:
    hold_quick("clients-leave")


def test_a_rolling_restart_fails_no_request() -> None:
    assert hold_quick("rolling-restart").details["restarts"] == 4


def test_poison_is_given_up_and_its_neighbours_are_answered() -> None:
    assert 4 <= hold_quick("poison").details["crashes"] <= 5


def test_probes_are_answered_under_load_and_tell_of_a_stopped_worker() -> None:
    assert hold_quick("probes").details["probes"] > 10


@pytest.mark.alone
def test_an_overload_is_told_and_cleared() -> None:
    assert set(hold_quick("alerts").details["raised_after_s"]) >= set(LOAD_ALERTS)


def test_faults_raise_their_alerts_and_readiness_says_why_nothing_is_answered() -> None:
    details = hold_quick("faults").details

    assert details["leaked-slot"]["alert"] == "no-progress"
    assert "See no-progress" in details["leaked-slot"]["readyz"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_drill_that_is_interrupted_ends_all_that_it_started(number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "chaos.json"
    command = processes.miniserve_command("chaos", "kill-worker", "--save", str(file))
    drill = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_until(lambda: len(descendants(drill.pid)) >= 5, 30, "Redis, a replica and two workers")
    started = descendants(drill.pid)

    drill.send_signal(number)

    assert drill.wait(30) == 130
    wait_until(lambda: not any(map(is_running, started)), 10, "the end of all that was started")
    assert json.loads(file.read_text())["drills"] == []
