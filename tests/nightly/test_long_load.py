"""Long loads: nothing is lost, whatever is killed."""

from __future__ import annotations

from tests import load_drills


def test_5000_different_sentences_of_64_clients_equal_the_offline_answers_while_rq_looks_on() -> None:
    load_drills.answer_as_offline_while_rq_looks_on(5000)


def test_a_worker_killed_five_times_under_load_costs_no_answer() -> None:
    load_drills.kill_workers(num_kills=5, num_requests=4000)


def test_a_redis_killed_three_times_under_load_costs_no_accepted_request() -> None:
    load_drills.kill_redis(num_kills=3, num_requests=4000)


def test_a_worker_stopped_and_continued_answers_nobody_twice() -> None:
    load_drills.stop_and_continue_a_worker(num_requests=3000)
