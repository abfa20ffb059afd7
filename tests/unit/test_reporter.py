"""Each number that a process counted goes into the sums once, whatever replies get lost."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from worker.queue.heartbeat import Reporter


def words_of(command: tuple) -> tuple[str, int, str, dict[str, float]]:
    """Process, number, whether it is an API replica, differences."""
    process, number, is_api, *words = command[3:]
    return process, number, is_api, dict(zip(words[::2], map(float, words[1::2]), strict=True))


class Sums:
    """What Redis makes of reports."""

    def __init__(self) -> None:
        self.totals: Counter[str] = Counter()
        self._last: dict[str, int] = {}

    def take(self, command: tuple) -> None:
        process, number, _, differences = words_of(command)
        if self._last.get(process, 0) < number:
            self._last[process] = number
            self.totals.update(differences)


def test_whole_numbers_stay_whole_and_others_keep_every_digit() -> None:
    command = Reporter().command({"whole": 12, "part": 0.1 + 0.2, "tiny": 1e-7, "even": 2.0})

    assert command[6:] == ("whole", "12", "part", "0.30000000000000004", "tiny", "1e-07", "even", "2.0")


@pytest.mark.parametrize("seed", range(20))
def test_the_sums_are_exact_once_the_last_report_is_taken_whatever_was_lost(seed: int) -> None:
    rng, sums = random.Random(seed), Sums()
    reporters = [Reporter() for _ in range(3)]
    counted: list[Counter[str]] = [Counter() for _ in reporters]

    for _ in range(200):
        number = rng.randrange(3)
        counted[number][rng.choice("abcd")] += rng.randrange(5)
        fate = rng.choice(("arrives", "is lost", "loses its reply"))
        command = reporters[number].command(counted[number])
        if fate != "is lost":
            sums.take(command)
        if fate == "arrives":
            reporters[number].note_reply(0)
    for reporter, totals in zip(reporters, counted, strict=True):
        for _ in range(2):  # one that may have been lost before, then the rest
            sums.take(reporter.command(totals))
            reporter.note_reply(0)

    assert sums.totals == sum(counted, Counter()), f"seed {seed}"


def test_a_report_is_bounded_and_what_does_not_fit_comes_with_the_next_ones() -> None:
    reporter, sums, totals = Reporter(), Sums(), {f"field-{number}": 1.0 for number in range(5000)}
    sizes = []

    for _ in range(4):
        report = reporter.command(totals)
        sums.take(report)
        sizes.append(len(words_of(report)[3]))
        reporter.note_reply(0)

    assert sizes == [2000, 2000, 1000, 0]
    assert sums.totals == totals
