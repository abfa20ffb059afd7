"""The command `miniserve loadtest`: options, progress, a table, a file."""

from __future__ import annotations

import json
import os
import re
import ssl
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from ops.load import ceiling, prompts, report
from ops.load.arrivals import Limits, arrivals_of
from ops.load.client import Client, run
from ops.load.generator import Expected, Generator, NoKeyError
from ops.load.measurements import Measurements, is_clean
from ops.observe.scrape import refusal
from ops.options import RangedType, option, with_settings
from scheduler.errors import ServingError
from scheduler.settings import Range, Settings

DEFAULT_DURATION_S = 10.0
_CEILING_S = 3.0
_DEFAULT_CLIENTS = 8
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


class _Progress:
    """A bar over requests or seconds, with the latest figures behind it; only where a person looks on."""

    def __init__(self, limits: Limits) -> None:
        is_counted = limits.total is not None
        self._is_counted = is_counted
        self._bar = tqdm(
            total=limits.total if is_counted else limits.duration_s, unit="req" if is_counted else "s", disable=None,
            bar_format=None if is_counted else "{l_bar}{bar}| {n:.0f}/{total:.0f} s{postfix}", leave=False,
        )  # fmt: skip

    def __enter__(self) -> Callable[[Measurements], None]:
        return self._tick

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def _tick(self, measurements: Measurements) -> None:
        done = measurements.num_over if self._is_counted else measurements.elapsed_s
        latencies = sorted(measurements.latencies_s[-500:])
        p50 = f", p50 {1e3 * latencies[len(latencies) // 2]:.1f} ms" if latencies else ""
        bad = measurements.num_over - measurements.statuses[200]
        self._bar.set_postfix_str(f"{measurements.statuses[200]:,} ok{p50}" + (f", {bad:,} not" if bad else ""))
        self._bar.update(min(done, self._bar.total) - self._bar.n)


def expected_answers(settings: Settings, sentences: list[str]) -> Expected:
    """What the model of this installation makes of each sentence it takes, run here without a server."""
    from api.http.replies import answer_text
    from ops.run.offline import OfflineCorrector

    click.echo(f"correcting {len(sentences):,} sentences here, to compare with ...", err=True)
    outcomes = OfflineCorrector.load(settings).correct_batch(sentences)
    answered = [(text, one) for text, one in zip(sentences, outcomes, strict=True) if not isinstance(one, ServingError)]
    return {text: json.loads(answer_text(correction)) for text, correction in answered}


@click.command()
@option("--url", default="http://127.0.0.1:8000", show_default=True)
@option("--api-key", default="")
@option("--concurrency", type=click.IntRange(1, 4096), show_default="8 without --rate")
@option("--total", type=click.IntRange(1, 10_000_000))
@option("--duration", type=Duration(), help="End after this time: 60s, 2m, 500ms. Without --total: 10s.")
@option("--rate", type=RangedType(float, Range(0.01, 100_000)))
@option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True)
@option("--sentences", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@option("--target-ms", "--slo-ms", type=click.FloatRange(0.1, 600_000),
        help="Target for a whole answer; goodput counts the answers within it.")  # fmt: skip
@option("--expect", is_flag=True, help="Compare every answer with that of the model, run here without a server.")
@option("--save", type=click.Path(dir_okay=False, writable=True, path_type=Path))
@option("--ceiling", is_flag=True, help="First measure the load generator itself, against fixed answers.")
@with_settings("strictness")
def loadtest(settings: Settings, **asked: Any) -> None:
    """Put a load on a running server and measure its answers.

    Closed loop by default: each client sends its next sentence when it has the answer to the last. With --rate an open
    loop: requests are sent at random times, and latency counts from the time at which a request was due.

    If the server sends Server-Timing, the mean of all answers and of the slowest tenth is split into its parts. The
    rest is HTTP, the API process, and the network.

    Exits with 1 if a request was refused or failed or, with --expect, had another answer; at once if nothing listens
    at the URL, or if the API key is missing.
    """
    sentences = _sentences(asked["sentences"], asked["seed"])
    if asked["rate"] is not None and asked["concurrency"] is not None:
        raise click.UsageError("--rate is for an open loop, --concurrency for a closed one; give one of them")
    clients = asked["concurrency"] or _DEFAULT_CLIENTS
    is_endless = asked["total"] is None and asked["duration"] is None
    limits = Limits(asked["total"], DEFAULT_DURATION_S if is_endless else asked["duration"])
    client = _client(asked["url"], asked["api_key"])
    if asked["save"]:
        _check_folder(asked["save"])
    _check_reachable(client)
    if asked["ceiling"]:
        figures = ceiling.measure(sentences, clients, _CEILING_S)
        click.echo(report.line("ceiling", f"{figures['throughput_per_s']:,.0f} requests/s of the generator itself"))
    expected = expected_answers(settings, sentences) if asked["expect"] else None
    arrivals = arrivals_of(clients, asked["rate"], asked["seed"])
    try:
        with _Progress(limits) as on_tick:
            measured = Generator(client, sentences, arrivals, limits, expected).run(on_tick)
    except NoKeyError as error:
        raise click.ClickException(f"POST {client.url}/correct answers {refusal(401, error.args[0])}") from None
    summary = measured.summary(asked["target_ms"])
    click.echo(report.table(summary))
    if asked["save"]:
        options = {name: asked[name] for name in ("url", "concurrency", "rate", "seed", "target_ms")}
        document = {"options": options | {"limits": asdict(limits)}, "result": summary}
        asked["save"].write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    raise SystemExit(0 if is_clean(summary) else 1)


def _sentences(path: Path | None, seed: int) -> list[str]:
    try:
        return prompts.load(path, seed)
    except (ValueError, OSError) as error:  # UnicodeDecodeError is a ValueError
        raise click.BadParameter(str(error), param_hint="--sentences") from None


def _check_folder(path: Path) -> None:
    """Said before the load and not after it."""
    if not path.absolute().parent.is_dir():
        raise click.BadParameter(f"there is no folder {path.parent}", param_hint="--save")


def _client(url: str, api_key: str) -> Client:
    try:
        return Client(url, api_key)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--url") from None


def _check_reachable(client: Client) -> None:
    """A load on nobody would measure nothing, to its end."""
    try:
        run(_reach(client))
    except ssl.SSLError as error:
        problem = (
            f"no secure connection to {client.url} ({error.reason or error}): SSL_CERT_FILE names further authorities"
        )
        raise click.ClickException(f"{problem}: SSL_CERT_FILE names further authorities") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        problem = f"nobody listens at {client.url} ({reason}): start a server there, or name another --url"
        raise click.ClickException(problem) from None


async def _reach(client: Client) -> None:
    await client.connect()
    await client.close()
