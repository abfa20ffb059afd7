"""The virtual clock against queues whose answer is known by a formula."""

from __future__ import annotations

import random
from statistics import mean

import pytest

from ops.plan.clock import Process, VirtualClock


def run(clock: VirtualClock) -> None:
    while clock.step():
        pass


def test_processes_that_share_a_core_stay_as_long_as_processor_sharing_says() -> None:
    """1 / (mu (1 - rho)), whatever the distribution of the work."""
    clock, stays_s, dice, at_s = VirtualClock(num_cores=1), [], random.Random(5), 0.0

    def arrive() -> None:
        begun_s = clock.now
        clock.compute(1.0, lambda: stays_s.append(clock.now - begun_s))

    for _ in range(20_000):
        at_s += dice.expovariate(0.6)
        clock.after(at_s, arrive)
    run(clock)

    assert mean(stays_s) == pytest.approx(1 / (1 - 0.6), rel=0.06)


def test_three_processes_on_two_cores_take_half_as_long_again() -> None:
    clock, ends_s = VirtualClock(num_cores=2), []
    for _ in range(3):
        clock.compute(1.0, lambda: ends_s.append(clock.now))

    run(clock)

    assert ends_s == pytest.approx([1.5, 1.5, 1.5])


def test_a_process_does_one_thing_after_the_other() -> None:
    clock, ends_s = VirtualClock(), []
    process = Process(clock)
    for _ in range(3):
        process.put(1.0, lambda: ends_s.append(clock.now))

    run(clock)

    assert ends_s == pytest.approx([1.0, 2.0, 3.0])
    assert process.busy_s == pytest.approx(3.0)
