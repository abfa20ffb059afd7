"""What the fault drills are made of: the tally, the checks, the counts, the table, the options."""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from pathlib import Path

import fakeredis
import psutil
import pytest
from click.testing import CliRunner

from ops.drills.catalogue import DRILLS
from ops.drills.command import Stop, chaos, rows
from ops.drills.conservation import CountWatch
from ops.drills.drill import Calm, Check, Drill, Findings, Result, Stage, Tally, at_least, at_most, hold, tally
from ops.drills.soak import growth_percent
from ops.drills.system import DrillError
from ops.drills.traffic import Exchange

ROOT = Path(__file__).resolve().parents[2]
ANSWER = {"corrected": "He went."}
CALM = Calm({"He goed.": ANSWER}, median_s=0.25)


def exchange(status: int = 200, **more: object) -> Exchange:
    about = {"question": {"sentence": "He goed."}, "key": "", "due_s": 1.0, "replica": 0, "answer": ANSWER}
    return Exchange(number=0, status=status, **{**about, "ended_s": 2.0, **more})


def test_a_client_without_a_200_in_the_end_counts_as_lost() -> None:
    counted = tally([exchange(), exchange(status=0), exchange(status=502)], CALM)

    assert (counted.requests, counted.lost) == (3, 2)


def test_an_answer_other_than_the_calm_runs_counts_as_wrong() -> None:
    assert tally([exchange(), exchange(answer={"corrected": "He go."})], CALM).wrong == 1


def test_the_added_delay_is_what_exceeds_the_calm_median() -> None:
    counted = tally([exchange(), exchange(ended_s=1.1)], CALM)

    assert counted.max_ms == 1000
    assert counted.added_p99_ms == pytest.approx(742.5)


def test_a_refused_client_that_is_answered_later_is_not_lost() -> None:
    counted = tally([exchange(refusals=[(0.01, 1.0)])], CALM)

    assert (counted.lost, counted.refused) == (0, 1)


def test_a_figure_that_could_not_be_measured_meets_no_bar() -> None:
    assert not at_most("delay", None, 3).is_met
    assert not at_least("kills", None, 0).is_met


def result(*checks: Check) -> Result:
    drill = Drill("kill-worker", "what", "0 lost", lambda stage: Findings(Tally(), ()))
    return Result(drill, Findings(Tally(requests=10), checks), "exact", 1.0)


def test_a_result_has_passed_only_if_every_check_is_met() -> None:
    met, missed = at_most("delay", 1, 3), at_most("delay", 4, 3)

    assert result(met).has_passed
    assert not result(met, missed).has_passed


def test_the_table_names_every_check_that_was_missed() -> None:
    shown = rows(result(at_most("added p99 ms", 4000, 3000), at_least("kills", 5, 1)), has_headings=True).splitlines()

    assert len(shown) == 3
    assert shown[0].index("bar") == shown[1].index("0 lost") and " NO " in shown[1]
    assert shown[2].strip() == "added p99 ms: 4000, asked <= 3000"


def test_the_markdown_rows_hold_the_figures_of_the_file(tmp_path: Path) -> None:
    document = {"date": "2026-01-01", "commit": "abc", "machine": {"cpu": "a CPU"}, "form": "full"}
    file = tmp_path / "chaos.json"
    file.write_text(json.dumps(document | {"drills": [result(at_most("p99 ms", 4, 3)).document()]}))

    said = CliRunner().invoke(chaos, ["--report", str(file)], catch_exceptions=False).output

    assert said.splitlines()[1] == "| `kill-worker` | 0 lost | 10 requests; p99 ms 4 | no |"


@pytest.mark.parametrize(
    "error",
    [
        DrillError("no worker came"), psutil.NoSuchProcess(17), ZeroDivisionError("by zero"), IndexError("no median"),
        subprocess.TimeoutExpired("worker", 20),
    ],
)  # fmt: skip
def test_a_drill_that_cannot_be_held_has_failed_and_says_why(error: Exception) -> None:
    def never(stage: Stage) -> Findings:
        raise error

    found = hold(Drill("a-drill", "what", "bar", never), Stage(True, 0))

    assert not found.has_passed
    assert str(found.findings.checks[0].value).startswith(f"{type(error).__name__}: {error} (test_chaos.py:")


def test_a_signal_ends_the_drill_and_those_after_it() -> None:
    def interrupted(stage: Stage) -> Findings:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hold(Drill("a-drill", "what", "bar", interrupted), Stage(True, 0))


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> CountWatch:
    server = fakeredis.FakeServer()
    monkeypatch.setattr("ops.drills.conservation.connect", lambda _: fakeredis.FakeRedis(server=server))
    return CountWatch("redis://127.0.0.1:1/0")


def scrape(watch: CountWatch, counts: dict[str, int], num_open: int, num_placed: int | None = None) -> None:
    client = watch.client
    client.hset("miniserve:counts", mapping=counts)
    client.zadd("miniserve:leases", {"w": 1})
    client.hset("miniserve:reservations", mapping={f"r{number}": 44 for number in range(num_open)})
    for number in range(num_open if num_placed is None else num_placed):  # a claim, rq:wip, the queue
        (
            client.rpush("miniserve:claim:w", f"r{number}") if number == 0
            else client.zadd("rq:wip:correct", {f"r{number}:w": 1}) if number == 1
            else client.rpush("rq:queue:correct", f"r{number}")
        )  # fmt: skip
    watch.scrape()


def test_counts_with_an_id_that_is_in_no_place_are_off(watch: CountWatch) -> None:
    scrape(watch, {"accepted": 4, "done": 1}, num_open=3, num_placed=2)

    assert (watch.is_exact, watch.summary()) == (False, "off by 1 at 1 of 1 scrapes")


def test_counts_are_exact_if_all_that_was_accepted_is_somewhere(watch: CountWatch) -> None:
    scrape(watch, {"accepted": 9, "done": 3, "failed": 1, "cancelled": 1, "expired": 1, "removed": 1}, num_open=2)

    assert (watch.is_exact, watch.summary()) == (True, "exact")


@pytest.mark.parametrize(("done", "worst"), [(2, 1), (4, -1)])
def test_counts_that_are_off_by_one_say_so(watch: CountWatch, done: int, worst: int) -> None:
    scrape(watch, {"accepted": 5, "done": done}, num_open=2)

    assert (watch.is_exact, watch.summary()) == (False, f"off by {worst} at 1 of 1 scrapes")


def test_a_redis_without_counts_is_not_judged(watch: CountWatch) -> None:
    watch.scrape()

    assert (watch.is_exact, watch.summary()) == (None, "n/a")


def test_a_signal_whose_exception_was_dropped_interrupts_the_drill_at_its_next_look() -> None:
    stop = Stop()
    stop.check()

    with suppress(KeyboardInterrupt):  # as Python does in a callback of a fork
        stop(15, None)

    with pytest.raises(KeyboardInterrupt):
        stop.check()


def test_growth_is_measured_from_the_minute_after_the_warm_up_to_the_last() -> None:
    def look(at_s: float, size: int, num_keys: int = 50) -> tuple[float, dict[str, int]]:
        return at_s, {"worker 1 rss": size, "redis keys": num_keys, "redis memory": 1000}

    looks = [
        look(0, 10),
        look(299, 500),
        look(301, 100),
        look(450, 900, 100),
        look(1750, 103, 104),
        look(1800, 103, 104),
    ]

    assert growth_percent(looks) == {"worker 1 rss": 3.0, "redis keys": 4.0, "redis memory": 0.0}


@pytest.mark.parametrize("arguments", [[], ["list"], ["--list"]])
def test_without_a_name_no_drill_begins_and_each_is_listed_with_its_bar(arguments: list[str]) -> None:
    said = CliRunner().invoke(chaos, arguments, catch_exceptions=False).output

    assert all(name in said and drill.bar in said for name, drill in DRILLS.items())
    assert "miniserve chaos --all" in said


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["no-such-drill"], "kill-worker"),
        (["--seed", "-1"], "--seed"),
        (["--save", "/no/such/folder/f"], "--save"),
        (["--quick"], "--all"),
    ],
)
def test_a_bad_value_ends_the_command_with_status_2_and_names_it(arguments: list[str], named: str) -> None:
    ended = CliRunner().invoke(chaos, arguments)

    assert ended.exit_code == 2
    assert named in ended.output


def test_the_document_on_reliability_has_a_row_for_every_drill() -> None:
    text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")

    for drill in DRILLS.values():
        assert f"| `{drill.name}` | {drill.bar} |" in text, drill.name
