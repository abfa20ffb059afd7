"""The command line's options: made from the settings, named in every refusal."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner, Result

from ops.cli import main
from ops.options import ALL_SETTINGS, PROCESS_SETTINGS, with_settings
from scheduler.settings import Settings


@click.command()
@with_settings(*ALL_SETTINGS)
def _show(settings: Settings) -> None:
    click.echo(repr(settings))


def _run(*arguments: str, **env: str) -> Result:
    return CliRunner().invoke(_show, list(arguments), env=env)


def test_an_option_wins_over_its_variable() -> None:
    assert "port=8002" in _run("--port", "8002", MINISERVE_PORT="8001").output
    assert "port=8001" in _run(MINISERVE_PORT="8001").output
    assert _run("--port", "8002", MINISERVE_PORT="abc").exit_code == 0


@pytest.mark.parametrize("value", ["0", "65536", "abc", "1.5"])
def test_a_bad_value_names_option_and_range_and_exits_2(value: str) -> None:
    for result in (_run("--port", value), _run(MINISERVE_PORT=value)):
        assert result.exit_code == 2
        assert "--port" in result.output
        assert "1 to 65,535" in result.output


TWO_REDIS = "--redis-url redis://a/0 --redis-url redis://b/0"


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("up --redis-url localhost:6379", "localhost:6379"),
        ("worker --redis-url redis://127.0.0.1:99999/0", "redis://127.0.0.1:99999/0"),
        ("api --redis-url redis://a/0,redis://b/0", "docs/proxies.md"),
        (f"dead-letters requeue {TWO_REDIS} an-id", "docs/proxies.md"),  # click would take the last one
        ("dead-letters --redis-url redis://a/0 --redis-url=redis://b/0", "docs/proxies.md"),
        ("api", "--redis-url is missing"),
        ("worker", "--redis-url is missing"),
        (f"eval --strictness 21 {__file__}", "a number, -20 to 20"),
        ("correct --max-slots x -", "a whole number, 1 to 4,096"),
        ("loadtset", "Did you mean 'loadtest'?"),
        ("dead-letters requeue --redis-url redis://a/0", "`requeue` needs an ID"),
        ("dead-letters list --redis-url redis://a/0 an-id", "`list` takes no ID"),
    ],
)
def test_a_command_line_that_is_none_ends_with_status_2_and_what_to_type(arguments: str, wanted: str) -> None:
    result = CliRunner().invoke(main, arguments.split())

    assert (result.exit_code, result.output.count(wanted)) == (2, 1)


def test_every_setting_is_named_for_the_processes_that_take_it() -> None:
    named = {name for names in PROCESS_SETTINGS.values() for name in names}

    assert named == {*ALL_SETTINGS}, "name it in PROCESS_SETTINGS of ops/options.py, then: make generate"


@pytest.mark.parametrize("command", ["loadtest", "bench"])
def test_commands_that_run_the_model_set_up_blas_before_numpy_is_imported(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "8")

    main.get_command(None, command)

    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"


def test_the_name_of_a_command_may_be_in_capitals() -> None:
    assert CliRunner().invoke(main, ["Up", "--help"]).exit_code == 0


def test_the_help_imports_nothing_heavy() -> None:
    code = "import sys, ops.cli; print(sorted({'numpy', 'flask', 'redis', 'tokenizers', 'torch'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.stdout.strip() == "[]"
