"""Several Redis in the place of one: their names, whose a request is, which is next, and one look out of several."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from click.testing import CliRunner

from api.shards.metrics import shard_metrics
from ops.cli import main
from scheduler.capacity.measure import Goals, measure
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.capacity.shards import at_rest, summed
from scheduler.errors import SettingsError
from scheduler.settings import Settings
from scheduler.shards import QueueLoad, by_home, in_turn, mark_of, place_of, shards_fault
from scheduler.urls import redis_urls
from tests.exposed_metrics import families_of
from tests.unit.test_metrics_document import ROWS

THREE = ["redis://a:1/0", "redis://b:1/0", "redis://c:1/0"]


def test_a_list_is_cut_where_a_scheme_follows() -> None:
    watched = "redis+sentinel://a:1,b:2/main/0"

    assert redis_urls(f"{watched}, unix:///tmp/s,redis://u:p%2C@h") == [watched, "unix:///tmp/s", "redis://u:p%2C@h"]
    assert redis_urls("") == [""]


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("redis://api:secret@h/0", "h:6379/0"),
        ("rediss://worker:other@h:6379?ssl_cert_reqs=none", "h:6379/0"),
        ("redis://[::1]/?db=2", "[::1]:6379/2"),
        ("unix:///tmp/s?password=x", "/tmp/s/0"),
        ("redis+sentinel://u:p@b:1,a/main", "a,b:1/main/0"),
    ],
)
def test_the_place_of_a_redis_is_the_same_for_all_users(url: str, place: str) -> None:
    assert place_of(url) == place


def test_a_redis_may_be_named_once() -> None:
    assert "h:1/0 twice" in shards_fault(["redis://api:x@h:1", "redis://other:1", "redis://h:1/0"])
    assert shards_fault(THREE) == ""


def test_a_list_with_an_unsound_url_is_refused_without_its_password() -> None:
    assert Settings(redis_url=",".join(THREE)).redis_url == ",".join(THREE)
    with pytest.raises(SettingsError, match="names no host") as refusal:
        Settings(redis_url="redis://u:secret@h,redis://u:secret@")
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("command", ["worker", "monitor", "up"])
def test_a_command_that_belongs_to_one_redis_takes_no_list(command: str) -> None:
    result = CliRunner().invoke(main, [command, "--redis-url", ",".join(THREE)], prog_name="miniserve")

    assert (result.exit_code, "names 3 Redis" in result.output) == (2, True)


def test_the_same_redis_twice_ends_the_command() -> None:
    result = CliRunner().invoke(main, ["api", "--redis-url", f"{THREE[0]},{THREE[0]}"], prog_name="miniserve")

    assert (result.exit_code, "twice" in result.output) == (2, True)


def test_where_a_shard_goes_only_what_it_was_home_to_moves() -> None:
    marks, names = list(map(mark_of, THREE)), [f"learner {number}" for number in range(3000)]
    before = {name: by_home(name, marks)[0] for name in names}

    after = {name: by_home(name, marks[:2])[0] for name in names}

    assert {name for name in names if before[name] != after[name]} == {n for n in names if before[n] == marks[2]}
    assert all(900 <= number <= 1100 for number in Counter(before.values()).values())


def test_the_shorter_wait_of_two_goes_first_and_the_longest_of_all_never() -> None:
    loads = [
        ("short", QueueLoad(100, 1000.0, 1)),
        ("middle", QueueLoad(100, 100.0, 1)),
        ("long", QueueLoad(9000, 1000.0, 9)),
    ]
    rng = random.Random(1)

    turns = [in_turn(loads, rng.sample) for _ in range(300)]

    firsts = Counter(turn[0] for turn in turns)
    assert set(firsts) == {"short", "middle"} and firsts["short"] > firsts["middle"]
    assert all(sorted(turn) == ["long", "middle", "short"] for turn in turns)


def test_a_worker_of_which_nothing_is_known_counts_as_one_that_computes() -> None:
    assert 0 < QueueLoad(1000, 0.0, 2).wait_s < QueueLoad(1000, 0.0, 1).wait_s < QueueLoad(1000, 10.0, 1).wait_s


def _observed(rate_per_s: float, now_s: float, num_rows: int = 70, step_s: float = 1.0) -> Observed:
    """A steady shard: so many accepted a second, each for 0.1 s."""

    def moment(at_s: float) -> Moment:
        number = rate_per_s * (at_s - now_s + 1000)
        sums = {"n": number, "t": 0.5 * number, "requests": number}
        return Moment(at_s, area_s=0.1 * number, stay_s=0.1 * number, accepted=number, ended=number, iterations=sums)

    rows = tuple(moment(now_s - step_s * age) for age in range(num_rows, 0, -1))
    counts = {"done": int(rate_per_s * 1000)}
    return Observed(moment(now_s), rows, (WorkerFacts(f"w-{rate_per_s}"),), 2, counts, {"x": rate_per_s}, queue_depth=3)


def test_the_rates_of_shards_with_clocks_of_their_own_add_up() -> None:
    goals = Goals(slo_wait_s=0.5, deadline_s=30.0)

    seen = summed([_observed(10, 5000.0), _observed(30, 9000.4, step_s=0.97), _observed(2, 100.0, num_rows=1)])
    capacity = measure(seen, goals)

    assert capacity.arrival_rate_per_s == pytest.approx(40.2, abs=0.3)
    assert capacity.number_in_system == pytest.approx(4.0, abs=0.1)
    assert capacity.residual == pytest.approx(0.0, abs=1e-6)
    assert (seen.queue_depth, len(seen.workers), seen.num_api_replicas, seen.totals) == (9, 3, 2, {"x": 42})


def test_the_counts_of_a_shard_that_is_away_stay_and_it_does_nothing() -> None:
    one, other = _observed(10, 5000.0), _observed(30, 5000.0)

    seen = summed([one, at_rest(other)])

    assert seen.counts == summed([one, other]).counts
    assert (seen.queue_depth, len(seen.workers)) == (3, 1)
    assert measure(seen, Goals(0.5, 30.0)).arrival_rate_per_s == pytest.approx(10, abs=0.1)


def test_the_table_of_metrics_of_shards_equals_the_metrics() -> None:
    families = families_of(shard_metrics({"a:1/0": _observed(1, 100.0), "b:1/0": None}, Settings())).values()

    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in ROWS if row.startswith("| of shards: `")]

    assert {(cells_of[0].removeprefix("of shards: "), cells_of[3]) for cells_of in cells} == {
        (f"`{family.name}`", family.documentation) for family in families
    }


def _modules(statements: Sequence[str]) -> Iterator[str]:
    said = subprocess.run(
        [sys.executable, "-c", "; ".join([*statements, "import sys", "print(*sys.modules)"])],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return iter(said.split())


def test_who_has_one_redis_loads_nothing_of_shards() -> None:
    loaded = _modules([
        "from api.site import create_site", "from scheduler.settings import Settings", "import api.server.application",
        "from tests.fake_corrector import FakeCorrector", "create_site(FakeCorrector(), Settings())",
        "import ops.run.correctors, worker.process, worker.mailbox.status_client",
    ])  # fmt: skip

    assert [name for name in loaded if "shard" in name] == []
