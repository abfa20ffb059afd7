"""What the fault drills are made of: figures and bars, the counts, the table, the options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fakeredis
import pytest
from click.testing import CliRunner

from ops.drills.catalogue import DRILLS
from ops.drills.command import chaos, said
from ops.drills.conservation import read_counts, summary
from ops.drills.drill import Drill, Load, Part, Stage, hold
from ops.drills.faults import FAULTS
from ops.drills.figures import Bar, figures_of
from ops.drills.looks import growth_percent
from ops.load.traffic import Exchange
from scheduler.capacity.rules import rules
from scheduler.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
ANSWER = {"corrected": "He went."}


def exchange(number: int = 0, status: int = 200, **more: Any) -> Exchange:
    about = {"question": {"sentence": "He goed."}, "due_s": 1.0, "ended_s": 2.0, "answer": ANSWER}
    return Exchange(number=number, status=status, **{**about, **more})


def test_the_refusals_of_the_first_requests_of_all_clients_are_counted_apart() -> None:
    ended = [exchange(number, refusals=[(0.5, 1.0), (0.01, 1.0)]) for number in range(3)]

    found = figures_of([*ended, exchange(3), exchange(4, status=503, refusals=[(0.03, 1.0)])], num_clients=2)

    assert (found["requests"], found["refused"], found["admitted_share"]) == (5, 7, 0.75)
    assert (found["first_refusals"], found["first_refusals_p99_ms"]) == (2, 500.0)
    assert (found["refusals_p50_ms"], found["statuses"]) == (10.0, {"200": 4, "503": 1})


def test_what_was_lost_wrong_or_late_is_counted_over_the_loads_that_count() -> None:
    stage = Stage(True, 0)
    stage.calm_answers, stage.calm_s, stage.uncounted = {"He goed.": ANSWER}, 0.25, {"peak"}
    stage.ended = {
        "load": [exchange(), exchange(ended_s=1.1), exchange(status=0), exchange(answer={"corrected": "He go."})],
        "over": [exchange(status=503, refusals=[(0.1, 1.0)]), exchange(status=502)],
        "peak": [exchange(status=0)],
    }

    for load in (Load(), Load(name="over", honest=(503,)), Load(name="peak")):
        stage.figures |= {load.name: load.figures(stage)}
    stage.sum_up()

    found = [stage.figures[name] for name in ("requests", "lost", "wrong", "refused", "added_p99_ms", "max_ms")]
    assert found == [6, 2, 1, 1, 750.0, 1000.0]


@pytest.mark.parametrize(
    ("bar", "is_met"),
    [
        (Bar("x", "over/p99_ms", "<=", 9), True),
        (Bar("x", "over/p99_ms", "<=", 7), False),
        (Bar("x", "over/p99_ms", "<=", 2, of="high/p99_ms"), True),
        (Bar("x", "over/p99_ms", "<=", 1, of="high/p99_ms", more=3.0), False),
        (Bar("x", "over/per_s", ">=", 0), False),
        (Bar("x", "nothing/p99_ms", "<=", 9), False),
        (Bar("x", "lost", "=", 0), True),
    ],
)
def test_a_bar_is_a_number_or_a_share_of_another_figure_and_met_by_no_figure_that_is_missing(
    bar: Bar, is_met: bool
) -> None:
    figures = {"lost": 0, "over": {"p99_ms": 8.0, "per_s": None}, "high": {"p99_ms": 4.5}}

    assert bar.check(figures).is_met is is_met


def held(figures: dict[str, Any], *bars: Bar, error: type[BaseException] | None = None) -> Any:
    """A drill without a system, whose part finds these figures."""

    class NoSystem(Stage):
        def play(self, part: Part) -> None:
            if error is not None:
                raise error("no worker came")
            self.figures |= figures

    drill = Drill("kill-worker", "what", "0 lost", (Part(steps=(), bars=bars),))
    return hold(drill, NoSystem(True, 0))


def test_a_drill_has_passed_only_if_every_bar_is_met_and_names_those_that_are_not() -> None:
    met, missed = Bar("lost", "lost", "=", 0), Bar("added p99 ms", "p99", "<=", 3000)

    good, bad = held({}, met), held({"p99": 4000}, met, missed)

    assert good.has_passed and not bad.has_passed
    assert said(bad).splitlines()[1:] == ["  added p99 ms: 4000, asked <= 3000"]


def test_a_drill_that_cannot_be_held_has_failed_and_says_why_and_a_signal_ends_it() -> None:
    found = held({}, error=ZeroDivisionError)

    assert not found.has_passed
    assert str(found.checks[0].value).startswith("ZeroDivisionError: no worker came (test_chaos.py:")
    with pytest.raises(KeyboardInterrupt):
        held({}, error=KeyboardInterrupt)


def looked(counts: dict[str, int], num_open: int, num_placed: int | None = None) -> str:
    client = fakeredis.FakeRedis()
    if counts:
        client.hset("miniserve:counts", mapping=counts)
    client.zadd("miniserve:leases", {"w": 1})
    for number in range(num_open):
        client.hset("miniserve:reservations", f"r{number}", 44)
    for number in range(num_open if num_placed is None else num_placed):  # a claim, rq:wip, the queue
        (
            client.rpush("miniserve:claim:w", f"r{number}") if number == 0
            else client.zadd("rq:wip:correct", {f"r{number}:w": 1}) if number == 1
            else client.rpush("rq:queue:correct", f"r{number}")
        )  # fmt: skip
    return summary([read_counts(client)])


@pytest.mark.parametrize(
    ("counts", "places", "words"),
    [
        ({"accepted": 9, "done": 3, "failed": 1, "cancelled": 1, "expired": 1, "removed": 1}, (2,), "exact"),
        ({"accepted": 5, "done": 2}, (2,), "off by 1 at 1 of 1 scrapes"),
        ({"accepted": 5, "done": 4}, (2,), "off by -1 at 1 of 1 scrapes"),
        ({"accepted": 4, "done": 1}, (3, 2), "off by 1 at 1 of 1 scrapes"),  # an id that is in no place
        ({}, (0,), "exact"),
        ({}, (1,), "off by -1 at 1 of 1 scrapes"),
    ],
)
def test_the_counts_are_exact_if_all_that_was_accepted_is_somewhere(
    counts: dict[str, int], places: tuple[int, ...], words: str
) -> None:
    assert looked(counts, *places) == words


def test_growth_is_measured_from_the_minute_after_the_warm_up_to_the_last() -> None:
    sizes = [(0, 10, 50), (299, 500, 50), (301, 100, 50), (450, 900, 100), (1750, 103, 104), (1800, 103, 104)]

    grown = growth_percent([(at_s, {"worker 1 rss": size, "redis keys": keys}) for at_s, size, keys in sizes])

    assert grown == {"worker 1 rss": 3.0, "redis keys": 4.0}


def test_without_a_name_no_drill_begins_and_each_is_listed_with_its_bar_as_the_document_has_it() -> None:
    printed = CliRunner().invoke(chaos, [], catch_exceptions=False).output
    document = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")

    assert all(name in printed and drill.bar in printed for name, drill in DRILLS.items())
    assert all(f"| `{name}` | {drill.bar} |" in document for name, drill in DRILLS.items())
    assert "miniserve chaos --all" in printed


def test_every_fault_of_break_is_turned_on_and_every_alert_is_one_of_the_rules() -> None:
    assert {fault.break_ for fault in FAULTS} == {*range(7)}
    assert {fault.alert for fault in FAULTS} <= {rule.name for rule in rules(Settings())}


@pytest.mark.parametrize(
    ("seen", "num_missed"),
    [
        ({}, 0),
        ({"raised_after_s": 5.1}, 1),
        ({"raised_after_s": None}, 2),
        ({"cleared_after_s": None}, 1),
        ({"readyz": "200"}, 1),
    ],
)
def test_an_alert_that_comes_late_or_never_or_stays_or_a_probe_that_says_nothing_fails_the_drill(
    seen: dict[str, object], num_missed: int
) -> None:
    stuck = next(fault for fault in FAULTS if fault.name == "leaked-slot")
    figures = {"raised_after_s": 4.9, "cleared_after_s": 2.0, "readyz": "Requests wait. See no-progress."} | seen

    checks = [bar.check({"leaked-slot": figures}) for bar in stuck.part().bars]

    assert sum(not check.is_met for check in checks) == num_missed
