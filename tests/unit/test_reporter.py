"""Each number that a process counted goes into the sums once, whatever replies get lost."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from worker.queue.heartbeat import Reporter


def report_of(reporter: Reporter, totals: dict[str, float]) -> tuple:
    return reporter.command(totals)


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


def test_a_report_holds_what_changed_since_the_one_before() -> None:
    reporter = Reporter()

    first = words_of(report_of(reporter, {"a": 5, "b": 0, "c": 1.5}))
    reporter.note_reply(0)
    second = words_of(report_of(reporter, {"a": 7, "b": 0, "c": 1.5, "d": 1}))

    assert first[1:] == (1, "", {"a": 5, "c": 1.5})
    assert second[1:] == (2, "", {"a": 2, "d": 1})
    assert first[0] == second[0]


def test_a_report_without_reply_is_sent_again_as_it_was() -> None:
    reporter = Reporter()
    lost = report_of(reporter, {"a": 5})

    assert report_of(reporter, {"a": 9, "b": 1}) == lost

    reporter.note_reply(0)
    assert words_of(report_of(reporter, {"a": 9, "b": 1}))[1:] == (2, "", {"a": 4, "b": 1})


def test_nothing_new_is_a_report_without_fields() -> None:
    reporter = Reporter()
    report_of(reporter, {"a": 5})
    reporter.note_reply(0)

    assert words_of(report_of(reporter, {"a": 5}))[1:] == (2, "", {})


def test_whole_numbers_stay_whole_and_others_keep_every_digit() -> None:
    command = report_of(Reporter(), {"whole": 12, "part": 0.1 + 0.2, "tiny": 1e-7, "even": 2.0})

    assert command[6:] == ("whole", "12", "part", "0.30000000000000004", "tiny", "1e-07", "even", "2.0")


def test_later_changes_of_the_callers_numbers_do_not_get_into_a_report_that_was_made() -> None:
    reporter, totals = Reporter(), {"a": 1}
    report_of(reporter, totals)

    totals["a"] = 10
    reporter.note_reply(0)

    assert words_of(report_of(reporter, totals))[3] == {"a": 9}


def test_an_api_replica_says_that_it_is_one() -> None:
    assert words_of(report_of(Reporter(is_api=True), {}))[2] == "1"


def test_no_two_processes_have_the_same_name() -> None:
    names = {words_of(report_of(Reporter(), {}))[0] for _ in range(50)}

    assert len(names) == 50


@pytest.mark.parametrize("seed", range(20))
def test_the_sums_are_exact_once_the_last_report_is_taken_whatever_was_lost(seed: int) -> None:
    rng, sums = random.Random(seed), Sums()
    reporters = [Reporter() for _ in range(3)]
    counted: list[Counter[str]] = [Counter() for _ in reporters]

    for _ in range(200):
        number = rng.randrange(3)
        counted[number][rng.choice("abcd")] += rng.randrange(5)
        fate = rng.choice(("arrives", "is lost", "loses its reply"))
        command = report_of(reporters[number], counted[number])
        if fate != "is lost":
            sums.take(command)
        if fate == "arrives":
            reporters[number].note_reply(0)
    for reporter, totals in zip(reporters, counted, strict=True):
        for _ in range(2):  # one that may have been lost before, then the rest
            sums.take(report_of(reporter, totals))
            reporter.note_reply(0)

    assert sums.totals == sum(counted, Counter()), f"seed {seed}"


def test_a_report_is_bounded_and_what_does_not_fit_comes_with_the_next_ones() -> None:
    reporter, sums, totals = Reporter(), Sums(), {f"field-{number}": 1.0 for number in range(5000)}
    sizes = []

    for _ in range(4):
        report = report_of(reporter, totals)
        sums.take(report)
        sizes.append(len(words_of(report)[3]))
        reporter.note_reply(0)

    assert sizes == [2000, 2000, 1000, 0]
    assert sums.totals == totals
