"""Command-line options made from `Settings`: name, type, range, default, help and environment variable.

One definition in scheduler/settings.py serves the variables, the options and the README's table. Used by ops/cli.py.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import Field, fields, replace
from typing import Any

import click

from scheduler.errors import SettingsError
from scheduler.settings import Range, Settings, value_type, variable

REDIS_SCHEMES = ("redis://", "rediss://", "unix://")
ALL_SETTINGS = tuple(spec.name for spec in fields(Settings))


def with_settings(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of these settings; the function receives one finished `settings` instead of them."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(**values: Any) -> Any:
            chosen = {name: values.pop(name) for name in names}
            return function(settings=build_settings(os.environ, chosen), **values)

        for name in reversed(names):
            run = _option(_spec(name))(run)
        return run

    return decorate


def build_settings(env: Mapping[str, str], chosen: Mapping[str, Any]) -> Settings:
    """The chosen values over those of the environment; a bad value ends the command with exit status 2."""
    others = {name: text for name, text in env.items() if name not in {variable(name) for name in chosen}}
    try:
        return replace(Settings.from_env(others), **chosen)
    except SettingsError as error:
        raise click.UsageError(str(error)) from None


def flag_name(name: str) -> str:
    return "--" + name.replace("_", "-")


def _spec(name: str) -> Field[Any]:
    return next(spec for spec in fields(Settings) if spec.name == name)


def _option(spec: Field[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        flag_name(spec.name),
        spec.name,
        type=_SettingType(spec.name, spec.metadata["range"]),
        default=spec.default,
        show_default=spec.default not in (None, ""),
        envvar=variable(spec.name),
        show_envvar=True,
        help=_help(spec),
        callback=_check_redis_url if spec.name == "redis_url" else None,
    )


def _help(spec: Field[Any]) -> str:
    allowed = spec.metadata["range"]
    return spec.metadata["help"] + ("" if allowed.low is None else f" From {allowed}.")


class _SettingType(click.ParamType):
    """A value of a setting; every refusal names what is allowed (click's own types do not say it of a non-number)."""

    def __init__(self, name: str, allowed: Range) -> None:
        self.kind = value_type(name)
        self.allowed = allowed
        words = {int: "integer", float: "number", str: "text"}
        self.name = "|".join(allowed.choices) if allowed.choices else words[self.kind]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            converted = self.kind(value)
        except ValueError:
            converted = None
        if converted is None or not self.allowed.contains(converted):
            self.fail(f"{value!r} is not allowed; allowed: {self.allowed}", param, ctx)
        return converted


def _check_redis_url(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if value and not value.startswith(REDIS_SCHEMES):
        raise click.BadParameter(f"it begins with one of {', '.join(REDIS_SCHEMES)}")
    return value
