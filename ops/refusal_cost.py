"""What a refusal costs: `python -m ops.refusal_cost`. One API replica in front of a queue that is full for good.

Reservations that nobody holds fill the queue, and no worker is there to let them go. Without a known service rate a
replica asks Redis each time (`--asking`): the comparison of docs/adr/0010-refuse-at-the-gate.md.
"""

from __future__ import annotations

import os
import subprocess
import time
import urllib.request
from contextlib import suppress

import click
from redis import Redis

from ops import embedded_redis, processes
from ops.loadtest import prompts
from ops.loadtest.arrivals import MAX_OPEN_CONNECTIONS, Limits, OpenLoop
from ops.loadtest.connection import Target
from ops.loadtest.generator import Generator
from ops.metrics_cost.whole import cpu_seconds
from scheduler.settings import Settings

_TOKENS_PER_S = 20_000  # some seconds of backlog: a refusal is believed for as long as ever


@click.command()
@click.option("--rate", type=click.FloatRange(1, 10_000), default=230.0, show_default=True, help="Requests per second.")
@click.option("--seconds", type=click.FloatRange(1, 600), default=10.0, show_default=True, help="Length of the load.")
@click.option("--asking", is_flag=True, help="Let the replica ask Redis for every refusal.")
def main(rate: float, seconds: float, asking: bool) -> None:
    """Print the CPU of the API replica and of Redis per refusal. Linux only."""
    settings = Settings()
    with embedded_redis.private_directory() as directory:
        server = embedded_redis.start(directory)
        port = embedded_redis.free_port()
        environment = {**os.environ, "MINISERVE_REDIS_URL": server.url, "MINISERVE_PORT": str(port)}
        command = processes.miniserve_command("api", "--log-level", "error")
        replica = processes.spawn(command, environment, output=subprocess.DEVNULL)
        try:
            with Redis(port=server.port) as client:
                held = {f"nobody-{number}": 40 for number in range(settings.max_queue_requests)}
                client.hset("miniserve:reservations", mapping=held)
                client.set("miniserve:reserved_tokens", sum(held.values()))
                if not asking:
                    client.hset("miniserve:rates", "nobody", _TOKENS_PER_S)
            click.echo(_cost(f"http://127.0.0.1:{port}", rate, seconds))
        finally:
            processes.stop(replica, settings.grace_s)
            server.stop()


def _cost(url: str, rate: float, seconds: float) -> str:
    _wait_until_up(url)
    before = cpu_seconds(os.getpid())
    arrivals, limits = OpenLoop(rate, 0, MAX_OPEN_CONNECTIONS), Limits(duration_s=seconds)
    num_refused = Generator(Target.from_url(url), prompts.load(None, 0), arrivals, limits, None).run().statuses[503]
    after = cpu_seconds(os.getpid())
    each = {role: 1e3 * (after[role] - before[role]) / num_refused for role in ("api", "redis-server")}
    return f"{num_refused} refusals: API {each['api']:.2f} ms, Redis {each['redis-server']:.2f} ms of CPU each"


def _wait_until_up(url: str, patience_s: float = 20.0) -> None:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        with suppress(OSError), urllib.request.urlopen(f"{url}/healthz", timeout=1.0):
            return
        time.sleep(0.1)
    raise click.ClickException(f"no API replica at {url} within {patience_s:g} s")


if __name__ == "__main__":
    main()
