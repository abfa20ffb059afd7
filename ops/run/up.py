"""`miniserve up`: the whole system on one machine, in the foreground.

Starts an embedded Redis (unless one is given), the workers, one API replica and, if asked, rq-dashboard and (where
alerts are to be posted) a monitor; in the modes without a queue the API replica alone. Keeps them alive; stops them in
the order monitor, API, workers, dashboard, Redis, so that accepted requests are still answered.
Start-up and shutdown only: requests never pass through this process.
"""

from __future__ import annotations

import errno
import importlib.util
import ipaddress
import json
import os
import secrets
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from ops.options import check_keys, check_spans, check_temporary
from ops.run import banner, embedded_redis, health, logs, processes
from ops.run.embedded_redis import EmbeddedRedis
from ops.run.model_facts import read_model_facts
from ops.run.supervisor import Member, Signals, Supervisor
from scheduler.settings import QUEUE_MODES, Settings
from scheduler.urls import hide_password

READY_POLL_S = 0.05
EXPLAIN_AFTER_S = 5.0
EXPLAIN_EVERY_S = 30.0
_WRONG_HOST = (socket.gaierror, UnicodeError)
_MARGIN_S = 5.0  # what a process may need beyond its grace before SIGKILL: telling waiters, leaving a Redis that hangs


def run(settings: Settings, with_dashboard: bool, die_with_parent: bool, pools: tuple[int, int] = (0, 0)) -> int:
    """Serve until SIGINT or SIGTERM; returns the exit status. `pools`: workers that only read prompts, that decode."""
    if die_with_parent:
        processes.die_with_parent(signal.SIGTERM)
    if settings.break_:
        _say(f"--break {settings.break_} is on: to learn from, not to serve. See docs/exercises.")
    settings = _with_pools(settings, pools)
    _check_start(settings, with_dashboard)
    logs.never_wait_for_readers()
    warn_if_open(settings)
    with ExitStack() as stack:
        if die_with_parent:  # that is, under make, which would call Ctrl-C an error if it got it, too
            stack.enter_context(processes.foreground())
        signals = stack.enter_context(Signals())
        redis_server = None
        if settings.redis_url and settings.uses_queue:
            check_given_redis(settings.redis_url)
            settings = replace(settings, redis_port=0)  # that is a port of a Redis of our own
        elif settings.uses_queue:
            directory = stack.enter_context(embedded_redis.private_directory())
            redis_server, settings = _start_redis(directory, settings)
        supervisor = _supervisor(settings, redis_server, with_dashboard, pools)
        try:
            supervisor.start()
            return _serve(settings, supervisor, signals, with_dashboard)
        finally:
            supervisor.stop(signals)
            _say("stopped")


def _with_pools(settings: Settings, pools: tuple[int, int]) -> Settings:
    """With the number of all workers, in whatever roles."""
    if not any(pools):
        return settings
    if not all(pools) or settings.mode != "continuous" or settings.break_ or settings.workers != Settings().workers:
        options = "--prefill-workers and --decode-workers"
        raise click.UsageError(f"{options} are given together, for --mode continuous, without --workers and --break")
    return replace(settings, workers=min(sum(pools), 64))


def warn_if_open(settings: Settings) -> None:
    """Where machines other than this one may connect, and need no key."""
    if is_loopback(settings.host) or settings.api_keys_file:
        return
    where = f"--host {settings.host} opens port {settings.port} to every machine that can reach this one"
    _say(f"WARNING: {where}, without keys: all may use the service, read its figures and load it.")
    _say("WARNING: ask for keys (--api-keys-file), put a proxy with a log-in in front, or leave out --host.")


def is_loopback(host: str) -> bool:
    """Other names than localhost may lead anywhere."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _serve(settings: Settings, supervisor: Supervisor, signals: Signals, with_dashboard: bool) -> int:
    if not _wait_until_ready(settings, supervisor, signals):
        return 1
    if not signals.num_stops:
        click.echo("\n".join(["", *banner.banner_lines(settings, with_dashboard), ""]))
        processes.notify_ready()
    while not signals.num_stops:
        signals.wait(supervisor.revive())
    return 0


def _wait_until_ready(settings: Settings, supervisor: Supervisor, signals: Signals) -> bool:
    """False if a child cannot start; True when all is ready, or at a stop signal."""
    url = banner.base_url(settings.host, settings.port)
    explain_at = time.monotonic() + EXPLAIN_AFTER_S
    while not signals.num_stops:
        idle_s = supervisor.revive()
        if hopeless := supervisor.hopeless():
            _say(f"{hopeless.name} does not start; {hopeless.last_words()}")
            return False
        reason = why_not_ready(url)
        if reason is None:
            break
        if time.monotonic() >= explain_at:
            _say(f"not ready yet: {reason}")
            explain_at += EXPLAIN_EVERY_S
        signals.wait(min(idle_s, READY_POLL_S))
    return True


def _check_start(settings: Settings, with_dashboard: bool) -> None:
    """Everything that would make all children fail is said once, before any is started."""
    try:
        read_model_facts()
    except (OSError, ValueError, LookupError) as error:
        raise click.ClickException(f"the model's weights cannot be read: {error}") from None
    _check_mode(settings, with_dashboard)
    check_temporary()
    check_spans(settings)
    check_keys(settings)
    if settings.redis_port and settings.uses_queue and not settings.redis_url:
        check_port("127.0.0.1", settings.redis_port, "--redis-port")
    if with_dashboard and settings.dashboard_port == settings.port:
        raise click.UsageError(f"--port and --dashboard-port are both {settings.port}: give them different ports")
    check_port(settings.host, settings.port, "--port")
    if with_dashboard:
        if importlib.util.find_spec("rq_dashboard") is None:
            raise click.ClickException("rq-dashboard is not installed: pip install '.[dashboard]'")
        check_port("127.0.0.1", settings.dashboard_port, "--dashboard-port")


def _check_mode(settings: Settings, with_dashboard: bool) -> None:
    """What has no meaning without a queue is refused where it was asked for, not left out silently."""
    if settings.uses_queue:
        return
    asked = {"--workers": settings.workers > 1, "--redis-url": bool(settings.redis_url), "--dashboard": with_dashboard}
    asked["--alert-webhook"] = bool(settings.alert_webhook)
    if options := [option for option, is_asked in asked.items() if is_asked]:
        raise click.UsageError(
            f"--mode {settings.mode} runs the model in the API process, without Redis and workers: "
            f"leave out {' and '.join(options)}, or choose --mode {' or '.join(QUEUE_MODES)}"
        )


def check_port(host: str, port: int, option: str) -> None:
    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (OSError, UnicodeError) as error:
        is_host_to_blame = isinstance(error, _WRONG_HOST) or error.errno == errno.EADDRNOTAVAIL
        remedy = "--host" if is_host_to_blame else option
        reason = "no such host" if isinstance(error, _WRONG_HOST) else error.strerror
        if remedy == option and "MAKELEVEL" in os.environ:  # make sets it
            remedy = f'make up UP_OPTIONS="{option} {port + (1 if port < 65535 else -1)}"'
        raise click.ClickException(f"cannot listen on {host}:{port} ({reason}): choose another with {remedy}") from None


def check_given_redis(url: str) -> None:
    """A Redis of somebody else's must be there already: our children need it, and it is not ours to start."""
    from worker.queue.connection import Address, RedisConnection
    from worker.queue.protocol import MailboxDown

    with closing(RedisConnection(Address(url))) as connection:
        try:
            connection.ask(("PING",))
        except MailboxDown as error:
            if str(error).startswith("LOADING"):
                return  # it will answer
            raise click.ClickException(f"the Redis of --redis-url {hide_password(url)}: {error}") from None


def _start_redis(directory: Path, settings: Settings) -> tuple[EmbeddedRedis, Settings]:
    port = settings.redis_port or None
    password = secrets.token_urlsafe() if port else ""
    try:
        server = EmbeddedRedis(directory, port, password, is_guarded=True, memory_mb=settings.redis_memory_mb).serve()
    except embedded_redis.RedisUnavailable as error:
        raise click.ClickException(str(error)) from None
    return server, replace(settings, redis_url=server.socket_url)


def _supervisor(
    settings: Settings, redis_server: EmbeddedRedis | None, with_dashboard: bool, pools: tuple[int, int]
) -> Supervisor:
    env = {**os.environ, **settings.to_env()}
    env.pop("MINISERVE_ROLE", None)  # each worker is told its own
    env.pop("NOTIFY_SOCKET", None)  # gunicorn would report, too, and too early

    def role(name: str, *command: str, **about: Any) -> Member:
        command_line = processes.miniserve_command(*command)
        return Member(name, command_line, env, patience_s=settings.grace_s + _MARGIN_S, **about)

    redis_stage = [redis_server] if redis_server else []
    num_workers = settings.workers if settings.uses_queue and not any(pools) else 0
    workers = [role(f"worker {number}", "worker") for number in range(1, num_workers + 1)]
    for name, number in zip(("prefill", "decode"), pools, strict=True):
        workers += [role(f"{name} worker {each}", "worker", "--role", name) for each in range(1, number + 1)]
    api = [role("api", "api")]
    monitor = [role("monitor", "monitor", is_optional=True)] if settings.alert_webhook else []
    # On loopback only, for every MINISERVE_HOST: it has no log-in. Its stop takes two seconds, on a busy machine five.
    on_loopback = ("dashboard", "--host", "127.0.0.1", "--dashboard-open")
    dashboard = [role("dashboard", *on_loopback, output=subprocess.DEVNULL, is_optional=True)] if with_dashboard else []
    members = [*redis_stage, *workers, *api, *dashboard, *monitor]
    return Supervisor(members, [monitor, api, workers, dashboard, redis_stage], _say)


def why_not_ready(url: str) -> str | None:
    """None once GET /readyz answers 200 (Redis answers and a worker is alive), else what is missing."""
    try:
        status, body = health.get(urlsplit(url).hostname or "", urlsplit(url).port or 80, "/readyz")
    except (OSError, ValueError):
        return "the API does not answer"
    if status == 200:
        return None
    with suppress(ValueError, KeyError, TypeError):
        return json.loads(body)["detail"]
    return f"GET /readyz answers {status}"


def _say(line: str) -> None:
    with suppress(OSError):  # the terminal may be gone: no reason to leave the children unstopped
        click.echo(f"miniserve: {line}", err=True)
