"""What `miniserve up` prints once it is ready: where it listens, what to paste, what it has to work with."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from ops.options import API_SETTINGS, flag_name
from ops.run.embedded_redis import URL_NAME
from ops.run.model_facts import read_model_facts
from scheduler.messages import MAX_OUTPUT_TOKENS, MAX_PROMPT_TOKENS, MAX_WORDS
from scheduler.settings import Settings
from scheduler.urls import hide_password, is_sentinel_url


def print_banner(settings: Settings, with_dashboard: bool) -> None:
    click.echo("\n".join(["", *banner_lines(settings, with_dashboard), ""]))


def banner_lines(settings: Settings, with_dashboard: bool) -> list[str]:
    """Label and text of each line; the commands can be pasted as they are."""
    facts = read_model_facts()
    url = base_url(settings.host, settings.port)
    redis_url, redis_word = hide_password(settings.redis_url), _pasteable(settings.redis_url)
    taken = (settings.dashboard_port,) if with_dashboard else ()
    step = 1 if settings.port < 65534 else -1
    next_port = next(port for port in (settings.port + step, settings.port + 2 * step) if port not in taken)
    body = """'{"sentence": "He goed to school"}'"""
    kv_mb = settings.kv_budget_tokens * facts.kv_bytes_per_token / 1e6
    key = """ -H "Authorization: Bearer $MINISERVE_API_KEY\"""" if settings.api_keys_file else ""
    rows = [
        ("ready", f"{url}  (in a browser: a page that corrects as you type)"),
        ("try", f"curl -s {url}/correct{key} -H 'Content-Type: application/json' -d {body}"),
        ("model", f"{facts.num_parameters / 1e6:.2f} M parameters, {facts.num_layers} layers x {facts.width}"),
        ("sentences", f"up to {MAX_WORDS} words and {MAX_PROMPT_TOKENS} tokens; {MAX_OUTPUT_TOKENS} tokens out"),
        ("batching", f"mode {settings.mode}, {_batching(settings)}"),
    ]  # fmt: skip
    if settings.uses_queue:
        bound = f"{settings.max_queue_requests:,} requests or {settings.max_queue_tokens:,} tokens, then 503"
        rows += [
            ("queue bound", bound),
            ("KV cache", f"{settings.kv_budget_tokens:,} tokens = {kv_mb:.1f} MB a worker"),
            ("Redis", redis_url),
            *_redis_port(settings),
            ("watch", f"{_tool('miniserve')} top --url {url}"),
            ("look inside", f"{_tool('rq')} info -u {redis_word}"),
            (
                "add a replica",
                f"{_tool('miniserve')} api --port {next_port} --redis-url {redis_word}{_alike(settings)}",
            ),
        ]
        if is_sentinel_url(redis_url):  # of sentinels `rq` reads in a settings file only
            rows = [row for row in rows if row[0] != "look inside"]
    if with_dashboard:
        rows.append(("dashboard", f"http://127.0.0.1:{settings.dashboard_port}/"))
    if settings.break_:
        rows.append(("BROKEN", f"--break {settings.break_}, to learn from: docs/exercises"))
    rows.append(("stop", "Ctrl-C"))
    return [f"  {label:<14} {text}" for label, text in rows]


def _alike(settings: Settings) -> str:
    """The options that make a replica answer as this one does. Not --log-level: `up` has one of its own."""
    usual, options = Settings(), []
    for name in API_SETTINGS:
        value = getattr(settings, name)
        if value != getattr(usual, name) and name not in ("redis_url", "port", "log_level"):
            is_secret = name == "otel_endpoint" and ("@" in value or "?" in value)
            options.append(f" {flag_name(name)} {shlex.quote('***' if is_secret else str(value))}")
    return "".join(options)


def _redis_port(settings: Settings) -> list[tuple[str, str]]:
    """The port of the embedded Redis with its password, which is shown nowhere else."""
    if not settings.redis_port or not settings.redis_url.startswith("unix://"):
        return []
    password = settings.redis_url.partition("?password=")[2]
    return [("Redis port", f"redis://:{password}@127.0.0.1:{settings.redis_port}/0 (the password is shown this once)")]


def _pasteable(redis_url: str) -> str:
    """The URL as a word of a command; that of an embedded Redis with a password is read from its file."""
    path = _directory(redis_url) / URL_NAME
    if redis_url.startswith("unix://") and "?password=" in redis_url and path.is_file():
        return f'"$(cat {shlex.quote(str(path))})"'
    return shlex.quote(hide_password(redis_url))


def _directory(socket_url: str) -> Path:
    return Path(socket_url.removeprefix("unix://").partition("?")[0]).parent


def _batching(settings: Settings) -> str:
    match settings.mode:
        case "sync":
            return "one request at a time, in the API process"
        case "threaded":
            return f"each request by itself, {settings.model_threads} threads in the API process"
        case "static":
            how = f"to {settings.max_batch} sequences each, after {settings.max_wait_ms:g} ms"
            return f"{settings.workers} worker(s), {how}" + (
                f", {settings.fixed_tokens} tokens decoded" if settings.fixed_tokens else ""
            )
    return f"{settings.workers} worker(s), to {settings.max_slots} sequences each"


def base_url(host: str, port: int) -> str:
    """A URL a client on this machine can use: an API on all interfaces is reached over loopback."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _tool(name: str) -> str:
    """The path of an installed command, as short as can be pasted here."""
    script = Path(sys.executable).with_name(name)
    return str(script.relative_to(Path.cwd())) if script.is_relative_to(Path.cwd()) else str(script)
