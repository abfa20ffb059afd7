"""The MINISERVE_* variables of all commands: one meaning each, and a word for one that does not exist.

Settings have theirs in scheduler/settings.py. A variable that nobody reads is a misspelt one: a command that a person
types refuses it, a process under a supervisor warns of it and serves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches

from scheduler.settings import PREFIX, Settings, variable

# Options that several commands have mean the same in each, and so their help is written once.
SHARED_HELP = {
    "level": "quiet: fewer edits are wrong. picky: more mistakes are found.",
    "api_key": "API key, where the server asks for one. Set it by its variable: `ps` shows options.",
    "concurrency": "Closed loop: clients, each with one request at a time; several numbers: one load after the other.",
    "json": "Print JSON.",
    "rate": "Requests per second, at random times (Poisson); for loadtest an open loop.",
    "quick": "Run the short form, in a fraction of the time; its figures prove little.",
    "save": "JSON file for the figures.",
    "seed": "Seed of the order of sentences and of the times of requests and faults.",
    "sentences": "File with one sentence a line, instead of the 1,200 that ship.",
    "total": "Requests of one load.",
    "url": "Base URL of a running server: a replica, or the balancer.",
}
_OTHER_OPTIONS = frozenset(
    """
    all append calibration cores dashboard dashboard_hosts dashboard_open decode_workers
    die_with_parent duration every once out p95 prefill_workers
    prompts redraw reliability requests_per_s role runs show target_ms tokens_per_s trace verbose
    """.split()
) | SHARED_HELP.keys()  # fmt: skip
# Read by docker-compose.yml, where a shell has them set for it.
_OF_COMPOSE = frozenset(
    """
    dashboard_username dashboard_password prometheus_port prometheus_key_file grafana_port
    grafana_password
    """.split()
)
_REMOVED = {  # in 2.0, and what to do instead
    "traces": "send a request with X-Trace: 1 for its trace",
    "otel_share": "the client samples, by its traceparent",
    "dashboard_disable_delete": "the dashboard deletes nothing; `miniserve dead-letters drop` does",
}
KNOWN = frozenset(map(variable, {spec.name for spec in fields(Settings)} | _OTHER_OPTIONS | _OF_COMPOSE))


def unknown_variables(env: Mapping[str, str]) -> list[str]:
    """What is wrong with each variable of ours that nobody reads; an empty one counts as unset."""
    found = [name for name, text in env.items() if name.startswith(PREFIX) and text and name not in KNOWN]
    return [_advice(name) for name in sorted(found)]


def _advice(name: str) -> str:
    if instead := _REMOVED.get(name.removeprefix(PREFIX).lower()):
        return f"{name} is no setting any more: {instead}"
    nearest = get_close_matches(name, KNOWN, n=1, cutoff=0.0)[0]
    return f"there is no variable {name}; the nearest name is {nearest}"
