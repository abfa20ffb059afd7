"""`miniserve capacity`: Little's law of the running system as a table, and one sentence of advice.

The figures come from GET /metrics of any replica, or straight from Redis; `scheduler.capacity.measure` computes both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import click

from ops.observe.scrape import Scrape, ScrapeError, scrape
from ops.observe.top import words
from ops.observe.top.alarms import alerts_of
from ops.options import option, with_settings
from scheduler.capacity.health import health_of
from scheduler.capacity.measure import AUDIT_PARTS, AUDIT_S, MAX_UTILIZATION, RECENT_S, TURN_S, measure
from scheduler.capacity.observed import Observed
from scheduler.capacity.rules import Alert, Situation, holding
from scheduler.settings import Settings, hide_password
from worker.queue.protocol import MailboxDown

DEFAULT_URL = "http://127.0.0.1:8000"
_LITTLE_USED = 0.1
_ARITHMETIC = ("predicted-wait-long", "utilization-high", "littles-law-broken")  # the table and the advice say it


@dataclass(frozen=True, slots=True)
class Figures:
    """What the table shows."""

    arrival_rate_per_s: float
    number_in_system: float
    time_in_system_s: float
    residual: float
    service_rate_tokens_per_s: float
    utilization: float
    predicted_wait_s: float
    workers_needed: int
    queue_bound_tokens: int
    num_workers: int
    num_waiting: int
    num_running: int

    @classmethod
    def of_observed(cls, observed: Observed, settings: Settings) -> Figures:
        capacity = measure(observed, settings)
        return cls(
            arrival_rate_per_s=capacity.arrival_rate_per_s,
            number_in_system=capacity.number_in_system,
            time_in_system_s=capacity.time_in_system_s,
            residual=capacity.residual,
            service_rate_tokens_per_s=capacity.service_rate_tokens_per_s,
            utilization=capacity.utilization,
            predicted_wait_s=capacity.predicted_wait_s,
            workers_needed=capacity.workers_needed,
            queue_bound_tokens=capacity.queue_bound_tokens,
            num_workers=len(observed.workers),
            num_waiting=observed.num_waiting,
            num_running=observed.num_running,
        )

    @classmethod
    def of_scrape(cls, found: Scrape) -> Figures:
        """Raises ScrapeError where a number is missing."""
        values = {name: found.value(metric) for name, metric in METRICS.items()}
        if missing := [METRICS[name] for name, value in values.items() if value is None]:
            raise ScrapeError(f"the answer has no {missing[0]}: is the server older than this command?")
        whole = {name for name, kind in cls.__annotations__.items() if kind == "int"}
        return cls(**{name: int(value) if name in whole else value for name, value in values.items()})


METRICS = {
    "arrival_rate_per_s": "miniserve_arrival_rate",
    "number_in_system": "miniserve_number_in_system",
    "time_in_system_s": "miniserve_time_in_system_seconds",
    "residual": "miniserve_littles_law_residual",
    "service_rate_tokens_per_s": "miniserve_service_rate",
    "utilization": "miniserve_utilization",
    "predicted_wait_s": "miniserve_predicted_wait_seconds",
    "workers_needed": "miniserve_workers_needed",
    "queue_bound_tokens": "miniserve_queue_bound_tokens",
    "num_workers": "miniserve_workers",
    "num_waiting": "miniserve_num_requests_waiting",
    "num_running": "miniserve_num_requests_running",
}


@click.command()
@option("--url", show_default=f"{DEFAULT_URL} without --redis-url")
@option("--api-key", default="")
@option("--json", is_flag=True)
@with_settings("redis_url", "slo_ms", "request_timeout_s", redis_url="Redis to read without a replica.")
def capacity(settings: Settings, url: str | None, api_key: str, json: bool) -> None:
    """Print Little's law of the running system, and whether it needs another worker.

    The figures are read from GET /metrics at --url or, without it, from the Redis at --redis-url. With --url the goals
    (longest wait, deadline) are those of the server. A request counts once for each of its sentences. docs/capacity.md
    explains the arithmetic.
    """
    figures, alerts = _read(settings, url, api_key)
    say = advice(figures, alerts)
    if json:
        click.echo(as_json(figures, say))
    else:
        print_table(figures, say)


def _read(settings: Settings, url: str | None, api_key: str) -> tuple[Figures, Sequence[Alert]]:
    try:
        if url or not settings.redis_url:
            found = scrape(url or DEFAULT_URL, api_key)
            return Figures.of_scrape(found), alerts_of(found, found, 0.0, settings)
    except ScrapeError as error:
        raise click.ClickException(str(error)) from None
    from worker.queue.connection import Address
    from worker.queue.redis_observer import SystemReader

    try:
        seen = SystemReader(Address(settings.redis_url)).observe()
        alerts = holding(Situation(seen, measure(seen, settings), health_of(seen)), settings)
        return Figures.of_observed(seen, settings), alerts
    except MailboxDown as error:
        raise click.ClickException(f"{hide_password(settings.redis_url)} does not answer: {error}") from None


def advice(figures: Figures, alerts: Sequence[Alert] = ()) -> str:
    """What one worker serves, how much of it is used, what follows; or a fault that no worker would mend."""
    if figures.num_workers == 0:
        return "No worker is live, so nothing is answered: start one."
    if trouble := next((alert for alert in alerts if alert.name not in _ARITHMETIC), None):
        return trouble.sentence
    if figures.service_rate_tokens_per_s <= 0:
        return "Nothing is known yet of what a worker can do: send some requests and ask again."
    each = figures.service_rate_tokens_per_s / figures.num_workers
    start = f"One worker serves {each:,.0f} tokens/s; "
    if figures.utilization <= 0:
        return start + "no request has come in the last seconds."
    who = "it is" if figures.num_workers == 1 else f"all {figures.num_workers} are"
    used = words.percent(figures.utilization)
    start += f"at the present {_rate(figures.arrival_rate_per_s)} requests/s {who} {used} used. "
    return start + _next_step(figures)


def _next_step(figures: Figures) -> str:
    missing = figures.workers_needed - figures.num_workers
    if missing > 0:
        goal = (
            f"the use below {MAX_UTILIZATION:.0%}" if figures.utilization > MAX_UTILIZATION else "the wait in its limit"
        )
        return f"Add {missing} worker{'s' if missing > 1 else ''}: {figures.workers_needed} keep {goal}."
    spare = f" {figures.workers_needed} would do for now." if missing < 0 else ""
    if figures.utilization < _LITTLE_USED:  # ten times the load would be a guess, and other things would be full first
        return f"Enough for now; ask again under load for how much more.{spare}"
    enough_per_s = figures.arrival_rate_per_s * MAX_UTILIZATION / figures.utilization
    return f"Enough until about {_rate(enough_per_s)} requests/s.{spare}"


def _rate(per_s: float) -> str:
    """Three figures, never with an exponent."""
    return f"{per_s:,.0f}" if per_s >= 100 else f"{per_s:.3g}"


def as_json(figures: Figures, say: str) -> str:
    return json.dumps(asdict(figures) | {"advice": say})


def rows(figures: Figures) -> Iterator[tuple[str, str, str, str, str]]:
    """Symbol, meaning, value, unit, and over which time up to now it is taken."""
    audit, recent, turn = f"{AUDIT_S:g} s", f"{RECENT_S:g} s", f"{TURN_S:g} s"
    audits = f"{AUDIT_S / max(AUDIT_PARTS):g}-{audit}"
    yield "lambda", "requests accepted", f"{figures.arrival_rate_per_s:,.2f}", "1/s", recent
    yield "L", "requests in the system, mean", f"{figures.number_in_system:,.2f}", "", audit
    yield "W", "time in the system, mean", f"{1e3 * figures.time_in_system_s:,.1f}", "ms", audit
    yield "|L - lambda W| / L", "residual of Little's law", words.percent(figures.residual), "", audits
    yield "mu", "service rate, all batches full", f"{figures.service_rate_tokens_per_s:,.0f}", "tokens/s", audit
    yield "rho", "utilization", words.percent(figures.utilization), "", recent
    yield "Wq", "predicted wait of a new request", f"{1e3 * figures.predicted_wait_s:,.1f}", "ms", turn
    yield "B", "queue bound for the deadline", f"{figures.queue_bound_tokens:,}", "tokens", audit
    yield "", "requests waiting", f"{figures.num_waiting:,}", "", "now"
    yield "", "requests running", f"{figures.num_running:,}", "", "now"
    yield "m", "live workers", f"{figures.num_workers:,}", "", "now"
    yield "m*", "workers needed", f"{figures.workers_needed:,}", "", recent


def print_table(figures: Figures, say: str) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("symbol", "meaning", box=None, pad_edge=False)
    table.add_column("value", justify="right")
    table.add_column("unit")
    table.add_column("over")
    for row in rows(figures):
        table.add_row(*row)
    console = Console(highlight=False, soft_wrap=True)
    console.print(table)
    console.print(f"\n{say}", markup=False)
