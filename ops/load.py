"""A closed-loop load by hand: `python -m ops.load --url http://127.0.0.1:8000 --concurrency 8 --seconds 10`.

One thread, plain sockets, kept-alive connections: it takes as little as it can of the cores the server needs.
Every request carries another sentence. Each connection sends its next request when the last answer is complete.
"""

from __future__ import annotations

import itertools
import json
import random
import selectors
import socket
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import click

PATIENCE_S = 60.0
_SUBJECTS = ("He", "She", "My brother", "The teacher", "Our neighbour", "The old man", "Anna", "A friend of mine")
_VERBS = ("goed", "walked", "has went", "go", "was run", "don't likes", "wants to going", "is going", "will goes")
_PLACES = ("to school", "to the market", "home", "to the station", "to a small town", "to work", "there with us")
_TIMES = ("yesterday", "every day", "last week", "at noon", "on Monday", "in the evening", "because it was late")


def sentences(seed: int) -> Iterator[str]:
    """Endless short sentences, half of them wrong, none twice: each ends in a number of its own."""
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
@click.option("--concurrency", type=click.IntRange(1, 4096), default=8, show_default=True)
@click.option("--seconds", type=click.FloatRange(0.1, 3600), default=10.0, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
def main(url: str, concurrency: int, seconds: float, seed: int) -> None:
    """Print one JSON line: requests per second, latency quantiles, answers by status."""
    started_at = time.perf_counter()
    tally = run(url, concurrency, seconds, seed)
    elapsed_s = time.perf_counter() - started_at
    click.echo(json.dumps({"concurrency": concurrency, "seconds": round(elapsed_s, 2), **tally.summary(elapsed_s)}))


if __name__ == "__main__":
    main()
