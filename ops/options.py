"""Command-line options made from `Settings`: name, type, range, default, help and environment variable.

One definition in scheduler/settings.py serves the variables, the options and the table of docs/reference.md. Used by
ops/cli.py.
"""

from __future__ import annotations

import functools
import logging
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import Field, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from ops.variables import SHARED_HELP
from scheduler.errors import SettingsError
from scheduler.settings import Range, Settings, value_type, variable
from scheduler.urls import hide_password, redis_url_fault
from scheduler.web_urls import webhook_fault

logger = logging.getLogger(__name__)

_SHARED_REDIS = "Redis to share with the other processes; required (`miniserve up` prints its own)."
_OF_SPANS = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
ALL_SETTINGS = tuple(spec.name for spec in fields(Settings))
LOGGING = ("log_format", "log_level")
# What a command with many settings shows first.
_COMMON = ("redis_url", "host", "port", "api_keys_file", "workers", "mode")
_MANY = 10
# Those that each process takes. `up` takes all and passes them on; four are of `up` alone.
PROCESS_SETTINGS = {
    "api": (
        "redis_url", "redis_memory_mb", "host", "port", "trusted_proxies", "api_keys_file", "cors_origins",
        "api_processes", "mode", "model_threads", "strictness", "grace_s", "request_timeout_s", "max_queue_requests",
        "max_queue_tokens", "max_body_bytes", "keep_alive_s", "result_ttl_s", "slo_ms", "otel_endpoint", *LOGGING,
    ),
    "worker": (
        "redis_url", "mode", "max_batch", "max_wait_ms", "fixed_tokens", "grace_s", "kv_budget_tokens",
        "max_slots", "max_iteration_tokens", "max_stall_ms", "result_ttl_s", *LOGGING,
    ),
    "monitor": ("redis_url", "slo_ms", "alert_webhook", "request_timeout_s", *LOGGING),
    "up": ("redis_port", "workers", "break_", "dashboard_port"),
}  # fmt: skip


def with_settings(
    *names: str, is_redis_required: bool = False, defaults: Mapping[str, Any] | None = None, **help_texts: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of these settings; the function receives one finished `settings` instead of them.

    `help_texts` are those of settings that mean something narrower to this command, `defaults` those of settings that
    have another one here.
    """
    if is_redis_required:
        help_texts["redis_url"] = _SHARED_REDIS

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(**values: Any) -> Any:
            chosen = {name: values.pop(name) for name in names}
            settings = build_settings(os.environ, chosen)
            if is_redis_required and settings.uses_queue and not settings.redis_url:
                raise click.UsageError("--redis-url is missing: name the Redis to share; `miniserve up` prints its own")
            return function(settings=settings, **values)

        command: Callable[..., Any] = run
        for name in reversed(names):
            spec = _spec(name)
            is_hidden = len(names) > _MANY and name not in _COMMON
            default = (defaults or {}).get(name, spec.default)
            command = _option(spec, default, help_texts.get(name), is_hidden)(command)
        return _with_help_all(command) if len(names) > _MANY else command

    return decorate


def option(name: str, *other_names: str, help: str = "", **about: Any) -> Callable[[Any], Any]:
    """An option that is no setting, with its environment variable. One that several commands have needs no help here.

    `other_names` are what it was called when its variable meant another thing elsewhere.
    """
    plain = name.removeprefix("--").replace("-", "_")
    help = help or SHARED_HELP[plain]
    if isinstance(kind := about.get("type"), RangedType):
        help = _with_range(help, kind.allowed)
    return click.option(name, *other_names, envvar=variable(plain), help=help, **about)


def number(kind: type, low: float, high: float) -> RangedType:
    """The type of an option that takes a number of this kind, from `low` to `high`."""
    return RangedType(kind, Range(low, high))


def of_server(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that asks a running server --url and --api-key."""
    command = option("--api-key", default="")(command)
    return option("--url", default="http://127.0.0.1:8000", show_default=True, callback=_check_url)(command)


def build_settings(env: Mapping[str, str], chosen: Mapping[str, Any]) -> Settings:
    """The chosen values over those of the environment; a bad value ends the command with exit status 2."""
    others = {name: text for name, text in env.items() if name not in {variable(name) for name in chosen}}
    try:
        return replace(Settings.from_env(others), **chosen)
    except SettingsError as error:
        raise click.UsageError(str(error)) from None


def flag_name(name: str) -> str:
    return "--" + name.rstrip("_").replace("_", "-")


def _spec(name: str) -> Field[Any]:
    return next(spec for spec in fields(Settings) if spec.name == name)


def _with_help_all(command: Callable[..., Any]) -> Callable[..., Any]:
    def show(context: click.Context, parameter: click.Parameter, is_asked: bool) -> None:
        if is_asked:
            for each in context.command.params:
                if isinstance(each, click.Option):
                    each.hidden = False
            click.echo(context.get_help())
            context.exit()

    return click.option(
        "--help-all", is_flag=True, is_eager=True, expose_value=False, callback=show, help="Show all options and exit."
    )(command)


def _option(
    spec: Field[Any], default: Any, help: str | None, is_hidden: bool
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        flag_name(spec.name),
        spec.name,
        type=RangedType(value_type(spec), spec.metadata["range"]),
        default=default,
        show_default=default not in (None, ""),
        envvar=variable(spec.name),
        hidden=is_hidden,
        help=_with_range(help or spec.metadata["help"], spec.metadata["range"]),
        callback={"redis_url": _check_redis_url, "alert_webhook": _check_webhook}.get(spec.name),
    )


def _with_range(help: str, allowed: Range) -> str:
    return help if allowed.low is None else f"{help} From {allowed}."


class RangedType(click.ParamType[Any]):
    """A value within a range; every refusal names what is allowed (click's own types do not say it of a non-number)."""

    def __init__(self, kind: type, allowed: Range) -> None:
        self.kind = kind
        self.allowed = allowed
        words = {int: "integer", float: "number", str: "text"}
        choices = [*filter(None, allowed.choices or ()), *(["integer"] if allowed.choices and allowed.low else [])]
        self.name = "|".join(choices) or words[kind]

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return f"[{self.name}]" if self.allowed.choices else None  # as they are to be typed, not in capitals

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            converted = self.kind(value)
        except ValueError:
            converted = None
        if converted is None or not self.allowed.contains(converted):
            self.fail(f"{value!r} is not allowed; it takes {self.allowed.wanted(self.kind)}", param, ctx)
        return converted


class NewFile(click.Path):
    """A file to be written in the end: that its folder is missing is said at the beginning."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.absolute().parent.is_dir():
            self.fail(f"there is no folder {path.parent}", param, ctx)
        return path


def _check_redis_url(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if fault := redis_url_fault(value):
        raise click.BadParameter(f"{hide_password(value)!r} is not allowed; {fault}")
    return value


def _check_webhook(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if fault := webhook_fault(value):
        raise click.BadParameter(f"it {fault}")  # not shown: all of it may be a secret
    return value


def _check_url(context: click.Context, parameter: click.Parameter, value: str) -> str:
    from ops.load.client import Client

    try:
        return Client(value).url
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def check_spans(settings: Settings) -> None:
    """Raises click.UsageError where spans are wanted and the packages that make them are not there."""
    try:
        for name in _OF_SPANS if settings.otel_endpoint else ():
            import_module(name)
    except ModuleNotFoundError:
        problem = "needs packages that are not installed: pip install '.[otel]'"
        raise click.UsageError(f"{variable('otel_endpoint')} {problem}") from None


def check_keys(settings: Settings) -> None:
    """Raises click.UsageError where keys are asked for and their file cannot be read."""
    if not settings.api_keys_file:
        return
    from api.access.keys import KeyFileFault, read_keys

    try:
        read_keys(Path(settings.api_keys_file))
    except KeyFileFault as error:
        raise click.UsageError(f"{flag_name('api_keys_file')} {settings.api_keys_file}: {error}") from None


def check_temporary() -> None:
    """Raises click.ClickException where no temporary file can be written."""
    try:
        with tempfile.TemporaryFile():
            pass
    except OSError as error:
        fault = f"no folder for temporary files can be written ({error.strerror})"
        raise click.ClickException(f"{fault}: set TMPDIR to one that can") from None


def check_redis(settings: Settings) -> None:
    """Ends the process, with the reason in its log, where a Redis answers on which our scripts cannot run."""
    from worker.queue.connection import start_fault

    if fault := start_fault(settings.redis_url):
        logger.critical(f"cannot start: {fault}", extra={"redis": hide_password(settings.redis_url)})
        raise SystemExit(1)
