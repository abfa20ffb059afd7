"""Variables of the command line: one meaning each, and none that is silently ignored."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ops.cli import main
from ops.options import ALL_SETTINGS
from ops.run import processes
from ops.variables import KNOWN, unknown_variables
from scheduler.settings import variable

COMPOSE = Path(__file__).resolve().parents[2] / "docker-compose.yml"


def _options() -> Iterator[tuple[str, click.Option]]:
    yield from _options_of(main)


def _options_of(group: click.Group) -> Iterator[tuple[str, click.Option]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _options_of(command)
        for option in command.params:
            if isinstance(option, click.Option) and option.envvar:
                yield name, option


def test_options_that_share_a_variable_mean_the_same() -> None:
    meanings = defaultdict(lambda: defaultdict(list))
    settings = {variable(name) for name in ALL_SETTINGS}
    for command, option in _options():
        is_setting = option.envvar in settings and option.name in ALL_SETTINGS
        meaning = "the setting" if is_setting else (option.is_flag, option.help)
        meanings[option.envvar][meaning].append(command)

    assert {name: dict(one) for name, one in meanings.items() if len(one) > 1} == {}


def test_every_variable_of_an_option_and_of_compose_is_known_and_no_other() -> None:
    of_compose = {
        word.split(":")[0].rstrip("}")
        for word in COMPOSE.read_text(encoding="utf-8").replace("${", " ").replace("-", " ").split()
        if word.startswith("MINISERVE_")
    }

    assert {option.envvar for _, option in _options()} | of_compose == KNOWN


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("MINISERVE_MAX_SLOT", "MINISERVE_MAX_SLOTS"), ("MINISERVE_REDISURL", "MINISERVE_REDIS_URL"),
     ("MINISERVE_LOGLEVEL", "MINISERVE_LOG_LEVEL"), ("MINISERVE_SLO", "MINISERVE_SLO_MS")],
)  # fmt: skip
def test_a_misspelt_variable_ends_a_typed_command_with_the_nearest_name(name: str, nearest: str) -> None:
    result = CliRunner().invoke(main, ["up"], env={name: "8"})

    assert result.exit_code == 2
    assert f"there is no variable {name}; the nearest name is {nearest}" in result.output


@pytest.mark.parametrize(
    ("name", "instead"), [("MINISERVE_TRACES", "X-Trace: 1"), ("MINISERVE_OTEL_SHARE", "traceparent")]
)
def test_a_variable_of_before_says_what_to_do_instead(name: str, instead: str) -> None:
    (advice,) = unknown_variables({name: "1"})

    assert f"{name} is no setting any more" in advice and instead in advice


def test_help_is_given_whatever_is_misspelt() -> None:
    assert CliRunner().invoke(main, ["up", "--help"], env={"MINISERVE_MAX_SLOT": "8"}).exit_code == 0


def test_an_empty_variable_and_those_of_others_are_no_matter() -> None:
    assert unknown_variables({"MINISERVE_NO_SUCH": "", "PATH": "x", "MINISERVE_PORT": "8001"}) == []


@pytest.mark.parametrize("process", ["api", "worker", "monitor"])
def test_a_process_under_a_supervisor_warns_and_goes_on(process: str, tmp_path: Path) -> None:
    url = f"unix://{tmp_path}/no-such.sock"
    env = processes.environment({"MINISERVE_MAX_SLOT": "8", "MINISERVE_REDIS_URL": url, "MINISERVE_PORT": "65535"})
    with subprocess.Popen(processes.miniserve_command(process), env=env, stderr=subprocess.PIPE, text=True) as running:
        line = next(line for line in running.stderr if "MINISERVE_MAX_SLOT" in line)
        running.kill()
        running.stderr.read()

    assert "warning" in line and "the nearest name is MINISERVE_MAX_SLOTS" in line
