"""`miniserve capacity`: one sentence of advice, and Little's law of the running system as a table.

The figures come from GET /metrics of any replica; `scheduler.capacity.measure` computes them there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import click

from ops.observe import words
from ops.observe.scrape import ScrapeError, scrape
from ops.observe.snapshot import Snapshot, snapshot
from ops.options import of_server, option, with_settings
from ops.tables import table
from scheduler.capacity.measure import AUDIT_PARTS, AUDIT_S, MAX_UTILIZATION, RECENT_S, TURN_S
from scheduler.capacity.rules import Alert
from scheduler.settings import Settings

_LITTLE_USED = 0.1
_ARITHMETIC = ("predicted-wait-long", "utilization-high", "littles-law-broken")  # the table and the advice say it
_WHOLE = ("workers_needed", "queue_bound_tokens", "num_workers", "num_waiting", "num_running")

Figures = dict[str, float]


@click.command()
@of_server
@option("--json", "as_json", is_flag=True)
@with_settings("slo_ms")
def capacity(settings: Settings, url: str, api_key: str, as_json: bool) -> None:
    """Print whether the running system needs another worker, and the figures of Little's law.

    The figures are read from GET /metrics of any replica; the goals (longest wait, deadline) are those of the server. A
    request counts once for each of its sentences. docs/capacity.md explains the arithmetic.
    """
    found = scrape(url, api_key)
    now = snapshot(found, found, settings)
    figures = figures_of(now)
    say = advice(figures, now.alerts)
    if as_json:
        click.echo(json.dumps(figures | {"advice": say}))
        return
    click.echo(f"{say}\n\n{table(('symbol', 'meaning', '>value', 'unit', 'over'), rows(figures))}")


def figures_of(now: Snapshot) -> Figures:
    """Raises ScrapeError where a number is missing."""
    found = {**now.law, **now.capacity, "num_waiting": now.queue["waiting"], "num_running": now.queue["running"]}
    found["num_workers"] = found.pop("workers_live")
    figures = {name: value for name, value in found.items() if value is not None}
    if missing := sorted(found.keys() - figures.keys()):
        raise ScrapeError(f"the server does not report {missing[0]}: is it older than this command?")
    return figures | {name: int(figures[name]) for name in _WHOLE}


def advice(figures: Figures, alerts: Sequence[Alert] = ()) -> str:
    """How much of the workers is used, and what follows; or a fault that no worker would mend."""
    if trouble := next((alert for alert in alerts if alert.name not in _ARITHMETIC), None):
        return trouble.sentence
    if figures["service_rate_tokens_per_s"] <= 0:
        local = "The modes sync and threaded have no queue, and so none of these figures."
        return f"{local} In the others nothing is known yet of what a worker can do: send some requests and ask again."
    used, rate_per_s = figures["utilization"], figures["arrival_rate_per_s"]
    start = f"At the present {words.number(rate_per_s)} requests/s the workers are {words.percent(used)} used"
    if (missing := figures["workers_needed"] - figures["num_workers"]) > 0:
        return f"{start}: add {missing:g} for a use below {MAX_UTILIZATION:.0%} and a wait in its limit."
    if used < _LITTLE_USED:  # ten times the load would be a guess, and other things would be full first
        return f"{start}: enough for now. Ask again under load to learn how much more."
    return f"{start}: enough until about {words.number(rate_per_s * MAX_UTILIZATION / used)} requests/s."


def rows(figures: Figures) -> Iterator[tuple[str, str, str, str, str]]:
    """Symbol, meaning, value, unit, and over which time up to now it is taken."""
    audit, recent, turn = f"{AUDIT_S:g} s", f"{RECENT_S:g} s", f"{TURN_S:g} s"
    audits = f"{AUDIT_S / max(AUDIT_PARTS):g}-{audit}"
    yield "lambda", "requests accepted", f"{figures['arrival_rate_per_s']:,.2f}", "1/s", recent
    yield "L", "requests in the system, mean", f"{figures['number_in_system']:,.2f}", "", audit
    yield "W", "time in the system, mean", f"{1e3 * figures['time_in_system_s']:,.1f}", "ms", audit
    yield "|L - lambda W| / L", "residual of Little's law", words.percent(figures["residual"]), "", audits
    yield "mu", "service rate, all batches full", f"{figures['service_rate_tokens_per_s']:,.0f}", "tokens/s", audit
    yield "rho", "utilization", words.percent(figures["utilization"]), "", recent
    yield "Wq", "predicted wait of a new request", f"{1e3 * figures['predicted_wait_s']:,.1f}", "ms", turn
    yield "B", "queue bound for the deadline", f"{figures['queue_bound_tokens']:,.0f}", "tokens", audit
    yield "", "requests waiting", f"{figures['num_waiting']:,.0f}", "", "now"
    yield "", "requests running", f"{figures['num_running']:,.0f}", "", "now"
    yield "m", "live workers", f"{figures['num_workers']:,.0f}", "", "now"
    yield "m*", "workers needed", f"{figures['workers_needed']:,.0f}", "", recent
