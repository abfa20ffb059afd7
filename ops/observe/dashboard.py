"""`miniserve dashboard`: rq-dashboard for a container; it never runs without a log-in.

Where no password is given (RQ_DASHBOARD_PASSWORD) one is made and told on standard error, new at each start, so that
there is none that everybody knows.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

import click

USERNAME, PASSWORD = "RQ_DASHBOARD_USERNAME", "RQ_DASHBOARD_PASSWORD"
_PASSWORD_BYTES = 12


def with_credentials(env: Mapping[str, str]) -> dict[str, str]:
    """The environment, with a user and a password in any case."""
    made = {USERNAME: "operator", PASSWORD: secrets.token_urlsafe(_PASSWORD_BYTES)}
    return {**env, **{name: env.get(name) or value for name, value in made.items()}}


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTION]...")
def dashboard(options: tuple[str, ...]) -> None:
    """Run rq-dashboard with its own OPTIONs, and never without a log-in."""
    env = with_credentials(os.environ)
    if env[PASSWORD] != os.environ.get(PASSWORD):
        print(f"dashboard: log in as {env[USERNAME]} with password {env[PASSWORD]}", file=sys.stderr, flush=True)
    script = str(Path(sys.executable).with_name("rq-dashboard"))
    os.execve(script, [script, *options], env)
