"""`miniserve doctor`: looks at what a system stands on before it is blamed, and says of each thing how to mend it.

It changes nothing: it reads settings, files, the clock and INFO, binds the ports for a moment, and asks Redis with
commands that only read. Each check returns findings; a fault and a warning name their remedy.
"""

from __future__ import annotations

import json as json_module
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click

from api.grammar.ngrams import SHIPPED, NGrams
from ops.options import option
from ops.run import embedded_redis
from ops.run.banner import base_url
from ops.run.health import http_fault
from ops.run.model_facts import read_model_facts
from ops.tables import table
from ops.variables import unknown_variables
from scheduler.errors import SettingsError
from scheduler.settings import Settings
from scheduler.urls import hide_password, redis_url_fault
from worker.model.weights import DEFAULT_PATH, digest
from worker.queue.connection import refusal_of
from worker.queue.line import Line, ResponseError
from worker.queue.server import facts_of, server_fault

MAX_CLOCK_ERROR_S = 0.5
_PATIENCE_S = 2.0
MAX_MEMORY_SHARE = 0.7  # as the alert redis-memory-high
# Each reads only, and shows whether the user may use the command.
_NEEDLESS = {
    "CONFIG": ("CONFIG", "GET", "port"),
    "MODULE": ("MODULE", "LIST"),
    "DEBUG": ("DEBUG", "HELP"),
    "ACL": ("ACL", "USERS"),
}
_COLOURS = {"ok": None, "warn": "yellow", "FAULT": "red"}
_USERS_REMEDY = "give our processes users without @dangerous: ops/deploy/redis/users.acl, docs/security.md#redis"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, what is so, and what to do where that is wrong or could be better."""

    check: str
    found: str
    remedy: str = ""  # empty: all is well
    is_warning: bool = False  # with a remedy: it works as it is, and may be meant so

    @property
    def state(self) -> str:
        return "ok" if not self.remedy else "warn" if self.is_warning else "FAULT"

    @property
    def row(self) -> tuple[str, str, str]:
        return self.state, self.check, ": ".join(filter(None, [self.found, self.remedy]))


def _judged(check: str, fault: str, sound: str = "") -> Finding:
    """Of a fault in words, with the remedy behind a colon; empty: none."""
    found, _, remedy = fault.partition(": ")
    return Finding(check, found or sound, remedy)


@click.command()
@option("--redis-url", help="Redis to look at; empty: the one that `miniserve up` would start.")
@option("--port", help="Port of the API to look at, instead of the one that is set.")
@option("--json", "as_json", is_flag=True)
def doctor(redis_url: str | None, port: str | None, as_json: bool) -> None:
    """Check settings, model, ports, Redis and clock, one line each with the remedy.

    It changes nothing. A warning (yellow) is of what works and could be better, or of what only you can know. Exits
    with 1 if there is a fault.
    """
    given = {"MINISERVE_PORT": port} if port is not None else {}
    findings = list(examine(os.environ | given, redis_url))
    if as_json:
        rows = [asdict(finding) | {"ok": not finding.remedy} for finding in findings]
        click.echo(json_module.dumps(rows, indent=2))
    else:
        heading, *lines = table(("", "check", "found"), [finding.row for finding in findings]).splitlines()
        click.echo(heading)
        for line, finding in zip(lines, findings, strict=True):
            click.secho(line, fg=_COLOURS[finding.state])
    raise SystemExit(1 if any(finding.state == "FAULT" for finding in findings) else 0)


def examine(env: Mapping[str, str], redis_url: str | None = None) -> Iterator[Finding]:
    """All findings, in order; what cannot be read is a finding, too."""
    settings = Settings()
    try:
        settings = Settings.from_env(env)
        yield Finding("settings", "valid")
    except SettingsError as error:
        yield Finding("settings", str(error), "correct the variable; the checks below use defaults")
    for fault in unknown_variables(env):
        yield Finding("variables", fault, "correct its name, or unset it")
    if settings.break_:
        yield Finding("settings", f"--break {settings.break_} is on", "unset MINISERVE_BREAK")
    yield _model()
    yield _port("API port", settings.host, settings.port, "--port", "/healthz")
    dashboard = _port("dashboard port", "127.0.0.1", settings.dashboard_port, "--dashboard-port", "/")
    yield replace(dashboard, is_warning=True)  # few start one
    if redis_url is None:
        redis_url = settings.redis_url
    if settings.uses_queue:
        yield from _of_redis(redis_url) if redis_url else [_embedded()]


def _model() -> Finding:
    stated = DEFAULT_PATH.with_suffix(".sha256")
    try:
        facts, found = read_model_facts(), digest(DEFAULT_PATH)
        wanted = stated.read_text().split()[0]
        NGrams.load(SHIPPED)
    except (OSError, ValueError, LookupError) as error:
        return Finding("model", f"cannot be read ({error})", "install miniserve again")
    shown = f"sha256 {found[:16]}..."
    if found != wanted:
        return Finding("model", f"{shown}, {stated.name} states {wanted[:16]}...", "install miniserve again")
    return Finding("model", f"{facts.num_parameters / 1e6:.2f} M parameters, {shown} as shipped")


def _port(name: str, host: str, port: int, flag: str, path: str) -> Finding:
    """Free, or held by one that answers as ours does: a page, or the question for a log-in."""
    from ops.run.up import check_port

    try:
        check_port(host, port, flag)
    except click.ClickException as error:
        if not all(http_fault(str(port), path, status) for status in ("200", "401")):
            return Finding(name, f"{base_url(host, port)} answers: it runs")
        return _judged(name, error.message)
    return Finding(name, f"{host}:{port} is free")


def _embedded() -> Finding:
    try:
        path = embedded_redis.find_redis_server()
    except embedded_redis.RedisUnavailable as error:
        return _judged("embedded Redis", str(error))
    version = embedded_redis.version_of(path)
    return _of_version("embedded Redis", f"{path.name} {_dotted(version)} ({path})", version, path)


def _of_version(name: str, found: str, version: tuple[int, ...], path: Path) -> Finding:
    if embedded_redis.is_safe(version):
        return Finding(name, found)
    if embedded_redis.is_mended(path):
        return Finding(name, f"{found}, in which the distribution has mended {embedded_redis.HOLE}")
    remedy = "update it, unless its distribution has mended this version"
    return Finding(name, f"{found} may have a hole in its Lua ({embedded_redis.HOLE})", remedy, is_warning=True)


def _of_redis(url: str) -> Iterator[Finding]:
    """One finding for each thing about a running Redis; a single one where it does not answer."""
    if fault := redis_url_fault(url):
        yield Finding("Redis", f"{hide_password(url)!r}; {fault}", "correct --redis-url")
        return
    try:
        with closing(Line(url, _PATIENCE_S)) as line:
            line.connect()
            told = facts_of(line.call("INFO"))
            facts = {name: int(value) if value.isdecimal() else value for name, value in told.items()}
            if fault := server_fault(facts):
                yield _judged("Redis server", fault)
                return
            yield from (look(facts) for look in (_version, _eviction, _memory, _persistence))
            yield _clock(line)
            yield _users(line)
    except (ResponseError, OSError) as error:
        refused = refusal_of(error)
        remedy = "check the user and the password of --redis-url" if refused else "start it, or correct --redis-url"
        yield Finding("Redis", f"{hide_password(url)}: {refused and 'authentication refused' or error}", remedy)


def _version(facts: Mapping[str, Any]) -> Finding:
    name = "valkey" if "valkey_version" in facts else "redis"
    version = tuple(int(part) for part in str(facts[f"{name}_version"]).split(".")[:3] if part.isdecimal())
    path = Path(str(facts.get("executable", "")))
    is_here = path.is_file() and embedded_redis.version_of(path) == version
    return _of_version("Redis version", f"{name} {_dotted(version)}", version, path if is_here else Path())


def _eviction(facts: Mapping[str, Any]) -> Finding:
    policy, num_evicted = facts.get("maxmemory_policy"), facts.get("evicted_keys", 0)
    if policy != "noeviction":
        return Finding("Redis eviction", f"{policy}: it may drop requests", "set maxmemory-policy to noeviction")
    if num_evicted:
        return Finding("Redis eviction", f"{num_evicted:,} keys were evicted before", "restart it", is_warning=True)
    return Finding("Redis eviction", "noeviction")


def _memory(facts: Mapping[str, Any]) -> Finding:
    used, bound = facts.get("used_memory", 0), facts.get("maxmemory", 0)
    if not bound:
        remedy = "set maxmemory, to at most half of the memory that it can have"
        return Finding("Redis memory", f"{used / 2**20:.0f} MiB used, no bound", remedy, is_warning=True)
    found = f"{used / 2**20:,.0f} of {bound / 2**20:,.0f} MiB used"
    return Finding("Redis memory", found, "" if used <= MAX_MEMORY_SHARE * bound else "raise maxmemory")


def _persistence(facts: Mapping[str, Any]) -> Finding:
    name = "Redis persistence"
    if facts.get("rdb_last_bgsave_status", "ok") != "ok":
        return Finding(name, "its last save failed, and it may refuse writes", "look at its disk and its log")
    if not facts.get("aof_enabled"):
        remedy = "set appendonly yes, appendfsync everysec"
        return Finding(name, "no append-only file: a restart loses requests", remedy, is_warning=True)
    if facts.get("aof_last_write_status") != "ok" or facts.get("aof_last_bgrewrite_status") != "ok":
        return Finding(name, "its last write failed", "look at its disk and its log")
    return Finding(name, "append-only file, last write ok")


def _clock(line: Line) -> Finding:
    started_s = time.time()
    seconds, microseconds = map(int, line.call("TIME"))
    error_s = seconds + microseconds / 1e6 - (started_s + time.time()) / 2
    found = f"that of Redis is {abs(error_s):.3f} s {'ahead' if error_s > 0 else 'behind'}"
    return Finding(
        "clock", found, "" if abs(error_s) <= MAX_CLOCK_ERROR_S else "synchronise both machines (chrony, NTP)"
    )


def _users(line: Line) -> Finding:
    """What our user may do that our processes never need."""
    user = line.username or "default"
    needless = [name for name, command in _NEEDLESS.items() if _may(line, *command)]
    if needless:
        return Finding("Redis users", f"'{user}' may use {', '.join(needless)}", _USERS_REMEDY, is_warning=True)
    return Finding("Redis users", f"'{user}' may use none of {', '.join(_NEEDLESS)}")


def _may(line: Line, *command: str) -> bool:
    with suppress(ResponseError):  # also where the server itself forbids the command to all
        line.call(*command)
        return True
    return False


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
