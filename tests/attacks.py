"""Rude clients by the kind of their rudeness, and a good client beside them.

`python -m tests.attacks URL SECONDS` measures a running system: the slowest answers of a good client, calm and during
each attack.
"""

from __future__ import annotations

import http.client
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

RUDE, GOOD = "127.0.0.2", "127.0.0.3"
_POST = b"POST /correct HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
_TEXTS = (
    "!\n" * 20_000, "A " + "!\n" * 19_990, "\n\n_" * 13_000 + " Go.", "a\u0301" * 60_000, ".:) " * 10_000,
    "\u201c" * 80_000,
)  # fmt: skip
# Made once: the good client of the same process would wait for them.
_BODIES = [json.dumps({"sentence": text}, ensure_ascii=False).encode()[:262_000] for text in _TEXTS]
_NUM_HEADS = 200


class Connections:
    """Those of one attacker, closed in the end."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: list[socket.socket] = []

    def send(self, data: bytes) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self._port), timeout=30, source_address=(RUDE, 0))
        self._open.append(client)
        client.sendall(data)
        return client

    def ask(self, data: bytes) -> None:
        """Send on a connection of its own, and read to the first bytes of the answer."""
        client = self.send(data)
        client.recv(65_536)
        self._open.remove(client)
        client.close()

    def close(self) -> None:
        for client in self._open:
            client.close()


def slow_texts(rude: Connections) -> None:
    for body in _BODIES:
        rude.ask(_POST + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))


def small_chunks(rude: Connections) -> None:
    rude.ask(_POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 40_000 + b"0\r\n\r\n")


def many_lines(rude: Connections) -> None:
    rude.ask(_POST + b"Content-Length: 2\r\n" + (b"Accept: " + b"a/b;q=0.5," * 90 + b"\r\n") * 30 + b"\r\n{}")


def long_heads(rude: Connections) -> None:
    rude.ask(_POST + (b"Accept: " + b"a/b;q=0.5," * 800 + b"\r\n") * 90)


def declared_bodies(rude: Connections) -> None:
    rude.ask(_POST + b"Content-Length: 10000000\r\n\r\n")


def endless_heads(rude: Connections) -> None:
    """All of them at once, one more byte each in every round."""
    while len(rude._open) < _NUM_HEADS:
        rude.send(b"GET /nowhere HTTP/1.1\r\nX-Y: ")
    for client in list(rude._open):
        try:
            client.sendall(b"y")
        except OSError:
            rude._open.remove(client)
    time.sleep(0.1)  # a rude client's own pace


ATTACKS: dict[str, Callable[[Connections], None]] = {
    attack.__name__: attack
    for attack in (slow_texts, small_chunks, many_lines, long_heads, declared_bodies, endless_heads)
}


@contextmanager
def under(attack: Callable[[Connections], None], port: int, num_attackers: int = 4) -> Iterator[list[int]]:
    """Attack until the end of the block; yields how many rounds each attacker has done."""
    stop, rounds = threading.Event(), [0] * num_attackers

    def run(number: int) -> None:
        rude = Connections(port)
        while not stop.is_set():
            with suppress(OSError):  # refused, cut off, reset: what it came for
                attack(rude)
            rounds[number] += 1
        rude.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(num_attackers)]
    for thread in threads:
        thread.start()
    try:
        yield rounds
    finally:
        stop.set()
        for thread in threads:
            thread.join()


class GoodClient:
    """Asks for one correction after the other on a connection that is kept."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=(GOOD, 0))
        self.latencies_s: list[float] = []

    def ask(self, number: int) -> tuple[int, str]:
        began_s = time.monotonic()
        body = json.dumps({"sentence": f"He goed to {number} schools"})
        self._connection.request("POST", "/correct", body, {"Content-Type": "application/json"})
        reply = self._connection.getresponse()
        document = json.loads(reply.read())
        self.latencies_s.append(time.monotonic() - began_s)
        return reply.status, document.get("corrected", document.get("type"))


def _measure(url: str, seconds: float) -> None:
    port = urlsplit(url).port or 80
    nobody: Callable[[Connections], None] = lambda rude: time.sleep(0.1)  # noqa: E731
    for name, attack in {"calm": nobody, **ATTACKS, "calm again": nobody}.items():
        good, refused, until_s = GoodClient(port), 0, time.monotonic() + seconds
        with under(attack, port) as rounds:
            while time.monotonic() < until_s:
                refused += good.ask(7)[0] != 200
                time.sleep(0.02)
        times_ms = sorted(1e3 * each for each in good.latencies_s)
        p50, p99 = times_ms[len(times_ms) // 2], times_ms[int(0.99 * len(times_ms))]
        figures = f"p50 {p50:.0f}, p99 {p99:.0f}, slowest {times_ms[-1]:.0f} ms"
        print(f"{name:16} {len(times_ms):4} answers, {refused} refused, {figures}; {sum(rounds)} rounds", flush=True)


if __name__ == "__main__":
    _measure(sys.argv[1], float(sys.argv[2]))
