"""A group of commands whose modules are imported when they are run, not when the help lists them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import ClassVar

import click

_TOOLS = ("psutil", "tqdm")  # of the extra `tools`


class CommandsElsewhere(click.Group):
    """Those of `ELSEWHERE` come behind the group's own. By name: module, attribute, what the list of commands says."""

    ELSEWHERE: ClassVar[Mapping[str, tuple[str, str, str]]] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *self.ELSEWHERE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        module, attribute, _ = self.ELSEWHERE[cmd_name]
        try:
            return getattr(importlib.import_module(f"ops.{module}"), attribute)
        except ModuleNotFoundError as error:
            if error.name not in _TOOLS:
                raise
            problem = f"`{cmd_name}` needs {error.name}, which is not installed: pip install 'miniserve[tools]'"
            raise click.ClickException(problem) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, command.get_short_help_str(80)) for name, command in self.commands.items()]
        rows += [(name, summary) for name, (_, _, summary) in self.ELSEWHERE.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
