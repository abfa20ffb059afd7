"""The command line's options: made from the settings, named in every refusal."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner, Result

from ops.cli import main
from ops.options import ALL_SETTINGS, build_settings, with_settings
from scheduler.settings import Settings, variable

COMMANDS = ("up", "api", "worker", "correct", "top", "loadtest", "bench", "eval")


@click.command()
@with_settings(*ALL_SETTINGS)
def _show(settings: Settings) -> None:
    click.echo(repr(settings))


def _run(*arguments: str, **env: str) -> Result:
    return CliRunner().invoke(_show, list(arguments), env=env)


def test_without_options_and_variables_the_settings_are_the_defaults() -> None:
    assert _run().output.strip() == repr(Settings())


def test_an_option_wins_over_its_variable() -> None:
    assert "port=8002" in _run("--port", "8002", MINISERVE_PORT="8001").output
    assert "port=8001" in _run(MINISERVE_PORT="8001").output


def test_an_option_wins_over_a_bad_variable_of_the_same_setting() -> None:
    assert _run("--port", "8002", MINISERVE_PORT="abc").exit_code == 0


@pytest.mark.parametrize("value", ["0", "65536", "abc", "1.5", "-1"])
def test_a_bad_value_names_option_and_range_and_exits_2(value: str) -> None:
    for result in (_run("--port", value), _run(MINISERVE_PORT=value)):
        assert result.exit_code == 2
        assert "--port" in result.output
        assert "1 to 65,535" in result.output


def test_a_bad_variable_of_a_setting_the_command_has_no_option_for_exits_2_too() -> None:
    with pytest.raises(click.UsageError, match="MINISERVE_KV_BUDGET_TOKENS.*160 to 1,000,000"):
        build_settings({"MINISERVE_KV_BUDGET_TOKENS": "1"}, {"port": 8000})


@pytest.mark.parametrize("url", ["localhost:6379", "http://localhost", "redis://127.0.0.1:99999/0"])
def test_a_redis_url_that_is_none_is_refused_by_name_and_value(url: str) -> None:
    result = _run("--redis-url", url)

    assert result.exit_code == 2
    assert "--redis-url" in result.output
    assert url in result.output


@pytest.mark.parametrize("command", ["api", "worker", "monitor", "up", "dead-letters"])
def test_a_list_of_redis_urls_is_refused_with_what_to_do_instead(command: str) -> None:
    result = CliRunner().invoke(main, [command, "--redis-url", "redis://a/0,redis://u:secret@b/0"])

    assert (result.exit_code, "secret" in result.output) == (2, False)
    assert "--redis-url" in result.output and "docs/proxies.md" in result.output


@pytest.mark.parametrize("words", [["--redis-url", "redis://b/0"], ["--redis-url=redis://b/0"]])
def test_a_second_redis_url_is_refused_and_does_not_take_the_place_of_the_first(words: list[str]) -> None:
    result = CliRunner().invoke(main, ["monitor", "--redis-url", "redis://a/0", *words])

    assert (result.exit_code, "docs/proxies.md" in result.output) == (2, True)


def test_a_refused_redis_url_shows_no_password() -> None:
    for result in (_run("--redis-url", "http://u:secret@host/0"), _run(MINISERVE_REDIS_URL="redis://u:secret@h:x/0")):
        assert result.exit_code == 2
        assert "u:***@h" in result.output
        assert "secret" not in result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_every_command_has_a_variable_named_after_it(command: str) -> None:
    for option in main.get_command(None, command).params:
        if isinstance(option, click.Option):
            assert option.envvar == variable(max(option.opts, key=len).lstrip("-").replace("-", "_"))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_help(command: str) -> None:
    result = CliRunner().invoke(main, [command, "--help"])

    assert result.exit_code == 0
    assert result.output.startswith("Usage:")


@pytest.mark.parametrize("command", ["loadtest", "bench"])
def test_commands_that_run_the_model_set_up_blas_before_numpy_is_imported(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "8")

    main.get_command(None, command)

    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"


@pytest.mark.parametrize("command", ["api", "worker"])
def test_a_process_without_a_redis_is_told_which_option_to_give(command: str) -> None:
    result = CliRunner().invoke(main, [command])

    assert result.exit_code == 2
    assert "--redis-url" in result.output


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["eval", "--most-changed", "2", __file__], "a number, 0.0 to 1.0"),
        (["eval", "--max-slots", "x", __file__], "a whole number, 1 to 4,096"),
    ],
)
def test_a_bad_value_for_an_evaluation_names_option_and_range_too(arguments: list[str], wanted: str) -> None:
    result = CliRunner().invoke(main, arguments)

    assert result.exit_code == 2
    assert arguments[1] in result.output and wanted in result.output


@pytest.mark.parametrize("arguments", [["He", "goed", "to", "school"], ["-x he goed"]])
def test_a_sentence_the_shell_has_cut_is_answered_with_how_to_quote_it(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, ["correct", *arguments])

    assert result.exit_code == 2
    assert "Put the sentence in quotes" in result.output


def test_a_missing_sentence_is_answered_with_both_ways_to_give_one() -> None:
    result = CliRunner().invoke(main, ["correct"])

    assert result.exit_code == 2
    assert 'no sentence is given: name it in quotes, or "-" for standard input' in result.output


@pytest.mark.parametrize(
    ("typed", "meant"), [("loadtset", "loadtest"), ("wroker", "worker"), ("Up", "up"), ("corect", "correct")]
)
def test_a_misspelt_command_is_answered_with_the_nearest_one_and_once(typed: str, meant: str) -> None:
    result = CliRunner().invoke(main, [typed])

    assert (result.exit_code, f"Did you mean `{meant}`?" in result.output) == (2, True)
    assert result.output.count("Did you mean") == 1


def test_the_help_lists_every_command() -> None:
    result = CliRunner().invoke(main, ["--help"])

    assert all(f"\n  {name} " in result.output for name in COMMANDS)


def test_the_help_imports_nothing_heavy() -> None:
    code = "import sys, ops.cli; print(sorted({'numpy', 'flask', 'redis', 'tokenizers', 'torch'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.stdout.strip() == "[]"
