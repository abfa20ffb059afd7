"""Short loads: nothing is lost, whatever is killed. tests/nightly has the long ones."""

from __future__ import annotations

from tests import load_drills


def test_2000_different_sentences_of_64_clients_equal_the_offline_answers_while_rq_looks_on() -> None:
    load_drills.answer_as_offline_while_rq_looks_on(2000)


def test_a_worker_killed_two_times_under_load_costs_no_answer() -> None:
    load_drills.kill_workers(num_kills=2, num_requests=1600)


def test_a_redis_killed_once_under_load_costs_no_accepted_request() -> None:
    load_drills.kill_redis(num_kills=1, num_requests=1400)


def test_a_worker_stopped_and_continued_answers_nobody_twice() -> None:
    load_drills.stop_and_continue_a_worker(num_requests=2000)
