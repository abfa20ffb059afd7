"""`miniserve dashboard`: rq-dashboard behind `dashboard_app.py`, with a log-in unless only this machine reaches it.

Where no password is given one is made and printed on standard error, new at each start, so that there is none that
everybody knows. `miniserve up --dashboard` starts it on loopback.
"""

from __future__ import annotations

import secrets
import sys
from typing import TYPE_CHECKING, Any

import click

from api.server.application import Server
from ops.options import check_temporary, option, with_settings
from ops.run.up import is_loopback
from scheduler.settings import Settings
from scheduler.urls import hide_password

if TYPE_CHECKING:
    from flask import Flask

    from ops.observe.dashboard_app import Access

_PASSWORD_BYTES = 12
_THREADS = 8
_GRACE_S = 1  # its pages come in milliseconds, and nothing is lost with one


@click.command()
@with_settings("redis_url", "host", "dashboard_port", is_redis_required=True,
               host="Address the dashboard listens on.", dashboard_port="Its port.")  # fmt: skip
@option("--dashboard-username", default="operator", show_default=True, help="User name of the log-in.")
@option("--dashboard-password", default="",
        help="Password of the log-in; empty: a new one. Set it by its variable: `ps` shows options.")  # fmt: skip
@option("--dashboard-hosts", default="", metavar="NAME,...",
        help="Host names of the dashboard, in addition to localhost and addresses.")  # fmt: skip
@option("--dashboard-open", is_flag=True, help="Ask for no log-in; on a loopback address only.")
def dashboard(settings: Settings, **asked: Any) -> None:
    """Run rq-dashboard: it shows queues, jobs and workers, and puts dead letters back.

    It reads only JSON and never unpickles what is in Redis. It accepts changes only from its own pages, and deletes
    nothing: `miniserve dead-letters drop` does.
    """
    if asked["dashboard_open"] and not is_loopback(settings.host):
        raise click.UsageError(f"--dashboard-open is for a loopback address, and --host is {settings.host}")
    check_temporary()
    serve(settings, _access(asked))


def _access(asked: dict[str, Any]) -> Access:
    from ops.observe.dashboard_app import Access

    username, password = asked["dashboard_username"], asked["dashboard_password"]
    if not password and not asked["dashboard_open"]:
        password = secrets.token_urlsafe(_PASSWORD_BYTES)
        print(f"dashboard: log in as {username} with password {password}", file=sys.stderr, flush=True)
    hosts = tuple(name.strip().lower() for name in asked["dashboard_hosts"].split(",") if name.strip())
    return Access(username, password, hosts)


def serve(settings: Settings, access: Access) -> None:
    """In one process with threads; its pages ask for little, and a browser keeps several connections."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    config = {
        "bind": f"{host}:{settings.dashboard_port}",
        # A thread waits for the request of every connection, and a browser opens some before it asks.
        "worker_class": "gthread", "threads": _THREADS, "graceful_timeout": _GRACE_S,
        "loglevel": "warning", "control_socket_disable": True, "proc_name": "miniserve dashboard",
    }  # fmt: skip

    def load() -> Flask:
        from ops.observe.dashboard_app import create_app
        from worker.queue.redis_py import connect

        return create_app(connect(settings.redis_url), hide_password(settings.redis_url), access)

    Server(config, load).run()
