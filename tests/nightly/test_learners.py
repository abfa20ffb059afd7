"""Ten thousand learners, and a process of the API killed every few seconds."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException

from tests.integration.test_learners import correct, corrections
from tests.pace import patient
from tests.running_system import RunningSystem, descendants, wait_until

NUM_LEARNERS, NUM_REQUESTS, NUM_KILLS = 10_000, 20_000, 6


def test_counts_of_ten_thousand_learners_equal_their_answers() -> None:
    answered: list[tuple[float, str]] = []  # when, and whose
    uncertain: Counter[str] = Counter()  # the connection broke before the answer
    kills_s: list[float] = []

    def ask(number: int) -> None:
        learner = f"learner-{number % NUM_LEARNERS}"
        try:
            assert correct(system, learner).status == 200
            answered.append((time.monotonic(), learner))
        except (OSError, HTTPException):
            uncertain[learner] += 1

    with RunningSystem("--api-processes", "2") as system, ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask, number) for number in range(NUM_REQUESTS)]
        (master,) = system.pids("api")
        for number in range(1, NUM_KILLS + 1):
            due = number * NUM_REQUESTS // (NUM_KILLS + 2)
            wait_until(lambda due=due: len(answered) > due, 120, f"{due} answers")
            os.kill(min(descendants(master, recursive=False)), signal.SIGKILL)
            kills_s.append(time.monotonic())
        assert [each.result() for each in asked] == [None] * NUM_REQUESTS
        given = Counter(learner for _, learner in answered)
        # What is not reported, perhaps.
        num_under_way = sum(any(0 <= kill_s - at_s < patient(1.0) for kill_s in kills_s) for at_s, _ in answered)

        def counted() -> Counter[str]:
            return Counter({learner: corrections(system, learner) for learner in given})

        wait_until(lambda: counted().total() >= given.total() - num_under_way, 10, "the reports")
        assert not counted() - given - uncertain
