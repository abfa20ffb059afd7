"""The command `miniserve loadtest`: options, progress, a table, a file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from ops.load import prompts
from ops.load.arrivals import Limits, arrivals_of
from ops.load.client import Client, fetch, reason_of, refusal
from ops.load.measurements import Measurements, is_clean, measure
from ops.load.traffic import MEASURED, Traffic
from ops.options import NewFile, number, of_server, option
from ops.tables import table

DEFAULT_DURATION_S = 10.0
_DEFAULT_CLIENTS = 8
_FIRST_PATIENCE_S = 10.0
_BAR = 24  # characters of the longest
_UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "m": 60.0}


class Duration(click.ParamType[Any]):
    """`60s`, `1.5m`, `500ms`, or plain seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|)", value.strip())
        seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
        if not 0 < seconds <= 3600:
            self.fail(f"{value!r} is not allowed; it takes a time up to an hour, as 60s, 2m or 500ms", param, ctx)
        return seconds


class Clients(click.ParamType[Any]):
    """`8`, or `1,2,4,8` for one load after the other."""

    name = "clients"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        return tuple(number(int, 1, 4096).convert(each, param, ctx) for each in value.split(","))


@click.command()
@of_server
@option("--concurrency", type=Clients(), metavar="N[,N]...", show_default="8 without --rate")
@option("--total", type=number(int, 1, 10_000_000))
@option("--duration", type=Duration(), help="End after this time: 60s, 2m, 500ms. Without --total: 10s.")
@option("--rate", type=number(float, 0.01, 100_000))
@option("--seed", type=number(int, 0, 2**31), default=0, show_default=True)
@option("--sentences", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@option("--target-ms", type=number(float, 0.1, 600_000),
        help="Target for a whole answer; goodput counts the answers within it.")  # fmt: skip
@option("--save", type=NewFile())
def loadtest(**asked: Any) -> None:
    """Put a load on a running server and measure its answers.

    Closed loop by default: each client sends its next sentence when it has the answer to the last. With --rate an open
    loop: requests are sent at random times, and latency counts from the time at which a request was due.

    --concurrency 1,2,4,8,16 puts one load after the other on it, and prints a table: where more clients get no more
    answers, but wait longer, the server is full.

    Exits with 1 if a request was refused or failed; at once if nothing listens at the URL, or the API key is missing.
    """
    sentences = prompts.load(asked["sentences"], asked["seed"])
    if asked["rate"] is not None and asked["concurrency"] is not None:
        raise click.UsageError("--rate is for an open loop, --concurrency for a closed one; give one of them")
    _check_reachable(Client(asked["url"], asked["api_key"]), sentences[0])
    series = asked["concurrency"] or (_DEFAULT_CLIENTS,)
    summaries = {clients: _measured(asked, sentences, clients, is_one=len(series) == 1) for clients in series}
    if len(summaries) == 1:
        result: Any = summaries[series[0]]
        click.echo(_table(result))
    else:
        result = [{"concurrency": clients} | summary for clients, summary in summaries.items()]
        click.echo(_series_table(summaries))
    if asked["save"]:
        options = {name: asked[name] for name in ("url", "concurrency", "rate", "seed", "target_ms")}
        document = {"options": options | {"limits": asdict(_limits(asked))}, "result": result}
        asked["save"].write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    raise SystemExit(0 if all(map(is_clean, summaries.values())) else 1)


def _limits(asked: Mapping[str, Any]) -> Limits:
    is_endless = asked["total"] is None and asked["duration"] is None
    return Limits(asked["total"], DEFAULT_DURATION_S if is_endless else asked["duration"])


def _measured(asked: Mapping[str, Any], sentences: Sequence[str], clients: int, is_one: bool) -> dict[str, Any]:
    """The summary of one load."""
    limits, arrivals = _limits(asked), arrivals_of(clients, asked["rate"], asked["seed"])
    habits = replace(MEASURED, api_key=asked["api_key"])
    traffic = Traffic([asked["url"]], prompts.questions(sentences), arrivals, limits, habits)
    unit, shown = "s" if limits.total is None else "requests", "{l_bar}{bar}| {n:.0f} of {total:.0f} {unit}{postfix}"
    with tqdm(
        total=limits.total or limits.duration_s, unit=unit, bar_format=shown, leave=False, disable=None,
        desc=None if is_one else f"{clients} clients",
    ) as bar:  # fmt: skip

        def show(so_far: Measurements) -> None:
            bar.n = round(so_far.elapsed_s if limits.total is None else so_far.num_over)
            num_ok = so_far.statuses[200]
            bar.set_postfix_str(f"{num_ok:,} ok, {so_far.num_over - num_ok:,} not")

        return measure(traffic, show).summary(asked["target_ms"])


def _check_reachable(client: Client, sentence: str) -> None:
    """A load on nobody, or on a server that wants a key, would measure nothing, to its end."""
    body = json.dumps({"sentence": sentence}).encode()
    try:
        reply = fetch(client, "POST", "/correct", body, _FIRST_PATIENCE_S)
    except TimeoutError:
        problem = f"no answer from {client.url} within {_FIRST_PATIENCE_S:g} s: see its /readyz, or name another --url"
        raise click.ClickException(problem) from None
    except OSError as error:
        problem = f"no connection to {client.url} ({reason_of(error)}): start a server there, or name another --url"
        raise click.ClickException(problem) from None
    if reply.status == 401:
        raise click.ClickException(f"POST {client.url}/correct answers {refusal(reply)}")


def _table(summary: dict[str, Any]) -> str:
    """The summary for people."""
    rows = [
        ("requests", f"{summary['requests']:,} in {summary['seconds']:.1f} s"),
        ("throughput", f"{summary['throughput_per_s']:,.1f} corrections/s"),
    ]
    if "slo_ms" in summary:
        rows.append(("goodput", f"{summary['goodput_per_s']:,.1f} corrections/s within {summary['slo_ms']:g} ms"))
    if summary["p50_ms"] is not None:
        names = ("p50_ms", "p95_ms", "p99_ms", "max_ms")
        rows.append(("latency", ", ".join(f"{name[:-3]} {summary[name]:.1f}" for name in names) + " ms"))
    rows.append(("statuses", _counts(summary["statuses"])))
    rows += [(name, _counts(summary[name])) for name in ("problems", "failures") if summary[name]]
    return table(("", ""), rows)


def _series_table(summaries: Mapping[int, Mapping[str, Any]]) -> str:
    """A line for each number of clients, with a bar of its throughput."""
    most_per_s = max(summary["throughput_per_s"] for summary in summaries.values()) or 1.0

    def row(clients: int, summary: Mapping[str, Any]) -> Sequence[object]:
        per_s = summary["throughput_per_s"]
        num_not_ok = 0 if is_clean(summary) else summary["requests"] - summary["statuses"].get("200", 0)
        found = (summary[name] for name in ("p50_ms", "p95_ms", "p99_ms"))
        times = (None if each is None else f"{each:,.1f}" for each in found)
        return clients, f"{per_s:,.0f}", "█" * round(_BAR * per_s / most_per_s), *times, num_not_ok

    headings = (">clients", ">corrections/s", "", ">p50 ms", ">p95 ms", ">p99 ms", ">not ok")
    return table(headings, (row(*one) for one in summaries.items()))


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in counts.items()) or "none"
