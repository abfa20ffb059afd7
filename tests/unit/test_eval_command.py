"""`miniserve eval`: what it prints, for one file and for several."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from api.grammar.reasons import Reason
from ops.cli import main
from ops.evaluation.items import Item, write_items

WRONG = Item("He goed to school.", "He went to school.", (Reason.PAST_IRREG,))
CLEAN = Item("He went to school.", "He went to school.")
MISSED = Item("He goed to school.", "He flew to school.", (Reason.PAST_IRREG,))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["eval", *map(str, arguments)])


@pytest.fixture()
def files(tmp_path: Path) -> tuple[Path, Path]:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    write_items([WRONG, CLEAN], one)
    write_items([CLEAN, MISSED], two)
    return one, two


def test_at_the_greatest_strictness_nothing_is_changed_and_the_strictness_in_force_is_named(
    files: tuple[Path, Path],
) -> None:
    document = json.loads(run(files[0], "--strictness", "20", "--json").stdout)

    assert document["strictness"] == 20
    assert (document["num_exact"], document["num_wrong"], document["num_false_positives"]) == (0, 1, 0)
    assert run(files[0], "--level", "picky").stdout.splitlines()[0] == "strictness 3, picky"


def test_several_files_are_told_together_with_the_misses_that_are_asked_for(files: tuple[Path, Path]) -> None:
    document, text = json.loads(run(*files, "--json").stdout), run(*files, "--show", "wrong").stdout

    assert (document["num_clean"], document["num_wrong"]) == (2, 2)
    assert (
        "\n\nsentence  He goed to school.\nours      He went to school.   [irregular_past]\n"
        "wanted    He flew to school.   [irregular_past]\n\n" in text
    )
    assert "wanted" not in run(*files, "--show", "changed").stdout.partition("exact match")[0]


def test_a_file_without_any_item_is_refused_and_not_scored_0(files: tuple[Path, Path], tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n\n")

    result = run(files[0], empty)

    assert result.exit_code == 1
    assert "empty.jsonl holds no sentence" in result.output


@pytest.mark.parametrize("arguments", [[], ["--json", "--show", "wrong"]])
def test_no_file_at_all_or_misses_in_json_is_wrong_usage(files: tuple[Path, Path], arguments: list[str]) -> None:
    assert run(*arguments, *([files[0]] if arguments else [])).exit_code == 2


def test_the_reliability_is_told_and_drawn(files: tuple[Path, Path], tmp_path: Path) -> None:
    document = json.loads(run(*files, "--reliability", tmp_path / "r.png", "--json").stdout)

    ((confidence, made, right),) = document["confidences"]
    assert (made, right) == (2, 1)
    assert document["calibration_error"] == pytest.approx(abs(right / made - confidence))
    assert (tmp_path / "r.png").stat().st_size > 1000
