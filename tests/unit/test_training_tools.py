"""`miniserve training`: every tool has its help, and says what it lacks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click import ClickException
from click.testing import CliRunner, Result

from ops.cli import main
from ops.training import recipe
from ops.training.text import tables

GOOD = "[My uncle/The nurse] {has worked|perfect_tense:works} here since [May/2015].\n"
TOOLS = main.get_command(None, "training").list_commands(None)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["training", *arguments])


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_explains_itself_with_help(tool: str) -> None:
    result = invoke(tool, "--help")

    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: main training {tool}")


def test_a_tool_without_pytorch_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "ops.training.model.golden", raising=False)

    result = invoke("golden")

    assert result.exit_code == 1
    assert result.output == "Error: torch is missing: pip install --editable '.[train]'\n"


def test_where_only_the_wheel_is_installed_no_tool_begins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tables, "FOLDER", tmp_path / "none")

    result = invoke("vocabulary", "--help")

    assert result.exit_code == 1
    assert "work in a clone" in result.output


def test_files_of_lines_are_checked(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text(GOOD)
    bad.write_text(GOOD + "He {goes|no_such_reason:go} home.\n")

    assert (invoke("check-lines", str(good)).exit_code, invoke("check-lines", str(bad)).exit_code) == (0, 1)
    assert "bad.txt:2: " in invoke("check-lines", str(bad)).output
    assert "1 good lines (0 right only), 0 with faults" in invoke("check-lines", str(good)).output


def test_a_recipe_calibrates_on_the_development_sets_wherever_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = recipe.development_sets()

    assert {"everyday.jsonl", "blind-1.jsonl"} <= {path.name for path in found}
    monkeypatch.setattr(recipe, "_DEVELOPMENT", tmp_path)
    with pytest.raises(ClickException, match="no development sets"):
        recipe.development_sets()
