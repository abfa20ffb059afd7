"""`miniserve plan` and `miniserve calibrate` at the command line: what they print, and what they refuse."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ops.cli import main
from ops.plan import command, costs
from ops.plan.sizing import MOST_BUSY_REDIS, Goal, GoalError, Sizer
from tests.known_costs import COSTS, SENTENCES


@pytest.fixture
def calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with known costs; the texts that ship are as those of the tests."""
    monkeypatch.setattr(command, "_mix", lambda path: SENTENCES)
    path = tmp_path / "costs.json"
    costs.write(path, COSTS)
    return path


def plan(calibration: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["plan", "--calibration", str(calibration), *arguments])


def test_a_plan_names_processes_and_an_advice_and_as_json_the_same_numbers(calibration: Path) -> None:
    asked = ("--rate", "2000", "--p95", "60")

    text, found = plan(calibration, *asked).output, json.loads(plan(calibration, *asked, "--json").stdout)

    assert "API processes" in text and found["advice"] in text
    assert f"Run {found['size']['workers']} worker" in found["advice"]
    assert 0 < found["p50_s"] < found["p95_s"] <= 0.06


def test_more_requests_need_more_processes() -> None:
    sizer = Sizer(COSTS, SENTENCES, num_requests=600)

    small, large = (sizer.smallest(Goal(rate, 0.1)) for rate in (300.0, 4000.0))

    assert (small.workers, small.replicas) == (1, 1)
    assert large.workers > small.workers and large.replicas > small.replicas


@pytest.mark.parametrize("factor", [1, 10])
def test_where_cores_are_without_number_any_rate_that_one_redis_serves_has_a_plan(
    factor: float, tmp_path: Path
) -> None:
    """On machines so many times as slow."""
    shipped = costs.read(costs.SHIPPED)
    parts = {name: asdict(getattr(shipped, name)) for name in ("worker", "api", "redis")}
    slower = {name: {each: factor * s for each, s in part.items()} for name, part in parts.items()}
    document = asdict(shipped) | slower | {"hop_s": factor * shipped.hop_s}
    (tmp_path / "slower.json").write_text(json.dumps(document))
    sizer = Sizer(costs.read(tmp_path / "slower.json"), command._mix(None), num_requests=600)
    most_per_s = MOST_BUSY_REDIS / sizer.redis_s

    size = sizer.smallest(Goal(0.99 * most_per_s, 0.25))

    assert sizer.p95_s(0.99 * most_per_s, size) <= 0.25
    with pytest.raises(GoalError, match=r"run 3 deployments .*docs/proxies.md.* --rate [0-9]+$"):
        sizer.smallest(Goal(2.5 * most_per_s, 0.25))


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        ("--rate 100 --p95 1", 1, "--p95 1 cannot be kept.*the least is about"),
        ("--rate 300 --p95 500 --cores 1", 0, "the cores fill first"),
        ("--rate 5 --p95 100 --mode sync", 2, "sync"),
    ],
)
def test_what_hinders_a_plan_or_fills_first_is_named(calibration: Path, asked: str, status: int, said: str) -> None:
    result = plan(calibration, *asked.split())

    assert result.exit_code == status and re.search(said, result.output, re.DOTALL)


def test_more_than_the_cores_can_do_is_refused_with_the_cores_it_would_take() -> None:
    with pytest.raises(GoalError, match="2 cores cannot serve 20,000 requests/s: they take [0-9.]+ cores"):
        Sizer(COSTS, SENTENCES, cores=2, num_requests=3000).smallest(Goal(20_000.0, 0.1))


@pytest.mark.parametrize(
    ("content", "words"),
    [("{}", "Field required"), ("no json", "Invalid JSON"), (None, "cannot be read"), ({"version": 1}, "version"),
     ({"hop_s": -1.0}, "hop_s")],
)  # fmt: skip
def test_a_file_that_is_no_calibration_is_refused_with_the_remedy(
    tmp_path: Path, content: str | dict[str, float] | None, words: str
) -> None:
    path = tmp_path / "c.json"
    if isinstance(content, dict):
        costs.write(path, COSTS)
        content = json.dumps(json.loads(path.read_text()) | content)
    if content is not None:
        path.write_text(content)

    with pytest.raises(costs.CostsError, match="miniserve calibrate") as refusal:
        costs.read(path)

    assert words in str(refusal.value)


def test_texts_that_the_server_would_refuse_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("He goed to school.\n" + "word " * 200 + "\n")

    mix = command._mix(path)

    assert len(mix.texts) == 1
    assert mix.texts[0][0].output >= 1
