"""What `miniserve up` prints once it is ready: where it listens, what to paste, what it has to work with."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from ops.options import PROCESS_SETTINGS, flag_name
from ops.run.model_facts import read_model_facts
from scheduler.messages import MAX_OUTPUT_TOKENS, MAX_PROMPT_TOKENS, MAX_WORDS
from scheduler.settings import Settings
from scheduler.urls import hide_password, is_sentinel_url


def banner_lines(settings: Settings, with_dashboard: bool) -> list[str]:
    """Label and text of each line; the commands can be pasted as they are."""
    facts = read_model_facts()
    url, redis_url = base_url(settings.host, settings.port), _shown_redis(settings)
    body = """'{"sentence": "He goed to school"}'"""
    key = """ -H "Authorization: Bearer $MINISERVE_API_KEY\"""" if settings.api_keys_file else ""
    rows = [
        ("ready", f"{url}  (in a browser: a page that corrects as you type; /ops shows the batch)"),
        ("try", f"curl -s {url}/correct{key} -H 'Content-Type: application/json' -d {body}"),
        ("model", f"{facts.num_parameters / 1e6:.2f} M parameters, {facts.num_layers} layers x {facts.width}"),
        ("sentences", f"up to {MAX_WORDS} words and {MAX_PROMPT_TOKENS} tokens; {MAX_OUTPUT_TOKENS} tokens out"),
        ("mode", settings.mode),
    ]
    if settings.uses_queue:
        kv_mb = settings.kv_budget_tokens * facts.kv_bytes_per_token / 1e6
        bound = f"{settings.max_queue_requests:,} requests or {settings.max_queue_tokens:,} tokens, then 503"
        taken = (settings.dashboard_port,) if with_dashboard else ()
        near = settings.port + 1, settings.port + 2, settings.port - 1, settings.port - 2
        next_port = next(port for port in near if port < 65_536 and port not in taken)
        named = f"REDIS_URL={shlex.quote(redis_url)}"  # of options `ps` would show a password
        rows += [
            ("workers", f"{settings.workers}"),
            ("queue bound", bound),
            ("KV cache", f"{settings.kv_budget_tokens:,} tokens = {kv_mb:.1f} MB a worker"),
            ("Redis", redis_url),
            ("watch", f"{_tool('miniserve')} top --url {url}"),
            ("add a replica", f"MINISERVE_{named} {_tool('miniserve')} api --port {next_port}{_alike(settings)}"),
        ]
        if not is_sentinel_url(redis_url):  # of sentinels `rq` reads in a settings file only
            rows.append(("look inside", f"RQ_{named} {_tool('rq')} info"))
    if with_dashboard:
        rows.append(("dashboard", f"http://127.0.0.1:{settings.dashboard_port}/"))
    if settings.break_:
        rows.append(("EXERCISE", f"--break {settings.break_}, to learn from: docs/exercises"))
    rows.append(("stop", "Ctrl-C"))
    return [f"  {label:<14} {text}" for label, text in rows]


def _alike(settings: Settings) -> str:
    """The options that make a replica answer as this one does. Not --log-level: `up` has one of its own."""
    usual, options = Settings(), []
    for name in PROCESS_SETTINGS["api"]:
        value = getattr(settings, name)
        if value != getattr(usual, name) and name not in ("redis_url", "port", "log_level"):
            is_secret = name == "otel_endpoint" and ("@" in value or "?" in value)
            options.append(f" {flag_name(name)} {shlex.quote('***' if is_secret else str(value))}")
    return "".join(options)


def _shown_redis(settings: Settings) -> str:
    """Without the password of a given Redis; with that of the embedded one's port, which stands nowhere else."""
    socket_url, _, password = settings.redis_url.partition("?password=")
    if settings.redis_port and socket_url.startswith("unix://"):
        return f"redis://:{password}@127.0.0.1:{settings.redis_port}/0"
    return hide_password(settings.redis_url)


def base_url(host: str, port: int) -> str:
    """A URL a client on this machine can use: an API on all interfaces is reached over loopback."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _tool(name: str) -> str:
    """The path of an installed command, as short as can be pasted here."""
    script = Path(sys.executable).with_name(name)
    return str(script.relative_to(Path.cwd())) if script.is_relative_to(Path.cwd()) else str(script)
