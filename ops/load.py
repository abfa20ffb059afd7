"""A closed-loop load by hand: `python -m ops.load --url http://127.0.0.1:8000 --concurrency 8 --seconds 10`.

One thread, plain sockets, kept-alive connections: it takes as little as it can of the cores the server needs.
Every request carries another sentence. Each connection sends its next request when the last answer is complete.
"""

from __future__ import annotations

import csv
import itertools
import json
import random
import selectors
import socket
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TextIO
from urllib.parse import urlsplit

import click

PATIENCE_S = 60.0
COLUMNS = ("concurrency", "seconds", "requests", "requests_per_s", "p50_ms", "p95_ms", "p99_ms")
_SUBJECTS = ("He", "She", "My brother", "The teacher", "Our neighbour", "The old man", "Anna", "A friend of mine")
_VERBS = ("goed", "walked", "has went", "go", "was run", "don't likes", "wants to going", "is going", "will goes")
_PLACES = ("to school", "to the market", "home", "to the station", "to a small town", "to work", "there with us")
_TIMES = ("yesterday", "every day", "last week", "at noon", "on Monday", "in the evening", "because it was late")


def sentences(seed: int) -> Iterator[str]:
    """Endless short sentences, none twice: each ends in a number of its own. Most are wrong: 7 of the 9 verb phrases
    always, the other two where the time does not fit."""
    rng = random.Random(seed)
    for number in itertools.count(1):
        parts = (rng.choice(words) for words in (_SUBJECTS, _VERBS, _PLACES, _TIMES))
        yield f"{' '.join(parts)} with {number} others."


@dataclass(slots=True)
class Tally:
    """What came back."""

    latencies_s: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    def summary(self, elapsed_s: float) -> dict[str, object]:
        ordered = sorted(self.latencies_s)

        def quantile_ms(share: float) -> float:
            return round(1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1) if ordered else 0.0

        return {
            "requests": len(ordered),
            "requests_per_s": round(len(ordered) / elapsed_s, 1),
            "p50_ms": quantile_ms(0.50),
            "p95_ms": quantile_ms(0.95),
            "p99_ms": quantile_ms(0.99),
            "statuses": dict(sorted(self.statuses.items())),
        }


class Client:
    """One connection with at most one request on its way."""

    def __init__(self, address: tuple[str, int], host: str) -> None:
        self.socket = socket.create_connection(address, timeout=PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = f"POST /correct HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: "
        self._received = bytearray()
        self.sent_at = 0.0

    def send(self, sentence: str) -> None:
        body = json.dumps({"sentence": sentence})
        self.sent_at = time.perf_counter()
        self.socket.sendall(f"{self._head}{len(body)}\r\n\r\n{body}".encode())

    def receive(self) -> int | None:
        """The status once the answer is complete."""
        chunk = self.socket.recv(65536)
        if not chunk:
            raise ConnectionError("the server closed a connection")
        self._received += chunk
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator or len(body) < _content_length(head):
            return None
        self._received.clear()
        return int(head.split(b" ", 2)[1])


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise ValueError("the answer has no Content-Length")


def run(url: str, concurrency: int, seconds: float, seed: int) -> Tally:
    """Closed loop for `seconds`; answers still on their way then are awaited and counted."""
    parts = urlsplit(url)
    address = (parts.hostname or "127.0.0.1", parts.port or 80)
    source, tally = sentences(seed), Tally()
    with selectors.DefaultSelector() as selector:
        for _ in range(concurrency):
            client = Client(address, parts.netloc)
            client.send(next(source))
            selector.register(client.socket, selectors.EVENT_READ, client)
        deadline = time.perf_counter() + seconds
        while selector.get_map():
            ready = selector.select(PATIENCE_S)
            if not ready:
                raise TimeoutError(f"no answer within {PATIENCE_S:.0f} s")
            for key, _ in ready:
                _turn(key.data, source, tally, selector, deadline)
    return tally


def _turn(
    client: Client, source: Iterator[str], tally: Tally, selector: selectors.BaseSelector, deadline: float
) -> None:
    status = client.receive()
    if status is None:
        return
    now = time.perf_counter()
    tally.statuses[status] += 1
    tally.latencies_s.append(now - client.sent_at)
    if now < deadline:
        client.send(next(source))
    else:
        selector.unregister(client.socket)
        client.socket.close()


@click.command()
@click.option("--url", default="http://127.0.0.1:8000", show_default=True)
@click.option("--concurrency", type=click.IntRange(1, 4096), multiple=True, default=(8,), show_default=True)
@click.option("--seconds", type=click.FloatRange(0.1, 3600), default=10.0, show_default=True, help="Length of a run.")
@click.option(
    "--runs", type=click.IntRange(1, 100), default=1, show_default=True, help="Rounds over all concurrencies."
)
@click.option("--save", type=click.File("w"), help="CSV file for the rows.")
def main(url: str, concurrency: tuple[int, ...], seconds: float, runs: int, save: TextIO | None) -> None:
    """Print one JSON line a run: requests per second, latency quantiles, answers by status.

    --concurrency may be given several times; with --runs 3 the whole series is measured three times. The number of
    the round is the seed of its sentences.
    """
    writer = csv.DictWriter(save, COLUMNS, extrasaction="ignore", lineterminator="\n") if save else None
    if writer:
        writer.writeheader()
    for seed, clients in itertools.product(range(1, runs + 1), concurrency):
        row = measure(url, clients, seconds, seed)
        click.echo(json.dumps(row))
        if writer:
            writer.writerow(row)


def measure(url: str, concurrency: int, seconds: float, seed: int) -> dict[str, object]:
    """One run, as a row: what was asked, how long it took, what came back."""
    started_at = time.perf_counter()
    tally = run(url, concurrency, seconds, seed)
    elapsed_s = time.perf_counter() - started_at
    return {"concurrency": concurrency, "seconds": round(elapsed_s, 2), **tally.summary(elapsed_s)}


if __name__ == "__main__":
    main()
