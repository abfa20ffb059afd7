"""Rude clients by the kind of their rudeness: `python -m ops.drills.rude_clients PORT KIND` until standard input ends.

Its last line says how many rounds were done, and how many connections were held at most. The tests use `under`, which
does the same in threads of their own process.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from api.server.connections import allow_connections

RUDE = "127.0.0.2"
_POST = b"POST /correct HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
_BODY_BYTES = 262_000  # a little less than a body may have
_NUM_HELD = 800  # connections that an attacker of the drill holds, 3,200 in all
_ROUND_S = 0.1
_NUM_NEW = 8  # connections that an attacker of the drill opens in a round, of those that are missing
_BYTE_EVERY = 50  # rounds: a byte in five seconds keeps a connection from being idle


def _body(text: str) -> bytes:
    return json.dumps({"sentence": text}, ensure_ascii=False).encode()[:_BODY_BYTES]


# Made once, and as long as a text may be or as a body may be.
_MARKS = [_body(text) for text in ("!\n" * 20_000, "A " + "!\n" * 19_990, ".:) " * 10_000, "\u201c" * 80_000)]
_BLANKS = [_body(text) for text in ("\n\n_" * 13_000 + " Go.", "Go." + "\u3000" * 39_970 + "Go.", " " * 262_000)]
_WORDS = [_body(text) for text in ("a" * 39_990, "a" * 262_000, "a\u0301" * 60_000, "\u200b".join("a" * 19_990))]


class Connections:
    """Those of one attacker, closed in the end."""

    def __init__(self, port: int, num_held: int, num_new: int) -> None:
        self._port = port
        self._num_held = num_held
        self._num_new = num_new
        self._held: list[socket.socket] = []
        self.most_held = 0
        self.round = 0

    def _connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self._port), timeout=30, source_address=(RUDE, 0))

    def ask(self, data: bytes) -> None:
        """Send on a connection of its own, and read to the first bytes of the answer."""
        with self._connect() as client:
            client.sendall(data)
            client.recv(65_536)

    def hold(self, data: bytes, dribble: bytes = b"") -> None:
        """One more round of holding connections that begin with this and then send a byte now and then."""
        with suppress(OSError):  # refused: another round will do
            for _ in range(min(self._num_new, self._num_held - len(self._held))):
                self._held.append(self._connect())
                self._held[-1].sendall(data)
        for client in self._held[self.round % _BYTE_EVERY :: _BYTE_EVERY]:
            client.setblocking(False)
            try:
                client.sendall(dribble)
                if not client.recv(65_536):
                    raise ConnectionResetError
            except BlockingIOError:
                continue  # nothing has come: it still stands
            except OSError:
                self._held.remove(client)
                client.close()
        self.most_held = max(self.most_held, len(self._held))
        time.sleep(_ROUND_S)  # a rude client's own pace

    def close(self) -> None:
        for client in self._held:
            client.close()


def _send_each(rude: Connections, bodies: list[bytes]) -> None:
    for body in bodies:
        rude.ask(_POST + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))


def marks(rude: Connections) -> None:
    _send_each(rude, _MARKS)


def blanks(rude: Connections) -> None:
    _send_each(rude, _BLANKS)


def huge_words(rude: Connections) -> None:
    _send_each(rude, _WORDS)


def small_chunks(rude: Connections) -> None:
    rude.ask(_POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * _BODY_BYTES + b"0\r\n\r\n")


def many_lines(rude: Connections) -> None:
    rude.ask(_POST + b"Content-Length: 2\r\n" + (b"Accept: " + b"a/b;q=0.5," * 90 + b"\r\n") * 30 + b"\r\n{}")


def long_heads(rude: Connections) -> None:
    rude.ask(_POST + (b"Accept: " + b"a/b;q=0.5," * 800 + b"\r\n") * 90)


def declared_bodies(rude: Connections) -> None:
    rude.ask(_POST + b"Content-Length: 10000000\r\n\r\n")


def endless_heads(rude: Connections) -> None:
    rude.hold(b"GET /nowhere HTTP/1.1\r\nX-Y: ", b"y")


def endless_bodies(rude: Connections) -> None:
    rude.hold(_POST + b"Content-Length: 1000\r\n\r\n", b"y")


def idle_connections(rude: Connections) -> None:
    """Half of them have asked something before."""
    rude.hold(b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n" if rude.round % 2 else b"")


def unknown_paths(rude: Connections) -> None:
    """Each is a line in the log."""
    rude.ask(b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n")
    time.sleep(_ROUND_S / 5)


ATTACKS: dict[str, Callable[[Connections], None]] = {
    attack.__name__.replace("_", "-"): attack
    for attack in (
        marks, blanks, huge_words, small_chunks, many_lines, long_heads,
        declared_bodies, endless_heads, endless_bodies, idle_connections, unknown_paths,
    )
}  # fmt: skip


@contextmanager
def under(
    attack: Callable[[Connections], None], port: int, num_attackers: int = 4, num_held: int = 200, num_new: int = 200
) -> Iterator[list[Connections]]:
    """Attack until the end of the block; yields the attackers, who count their rounds.

    Each holds `num_held` connections, and opens at most `num_new` of them in a round.
    """
    stop = threading.Event()
    attackers = [Connections(port, num_held, num_new) for _ in range(num_attackers)]

    def run(rude: Connections) -> None:
        while not stop.is_set():
            with suppress(OSError):  # refused, cut off, reset: what it came for
                attack(rude)
            rude.round += 1
        rude.close()

    threads = [threading.Thread(target=run, args=(rude,)) for rude in attackers]
    for thread in threads:
        thread.start()
    try:
        yield attackers
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _run(port: int, name: str) -> None:
    allow_connections(4 * _NUM_HELD)
    with under(ATTACKS[name], port, 4, _NUM_HELD, _NUM_NEW) as attackers:
        sys.stdin.read()
    print(sum(rude.round for rude in attackers), sum(rude.most_held for rude in attackers))


if __name__ == "__main__":
    _run(int(sys.argv[1]), sys.argv[2])
