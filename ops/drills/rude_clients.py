"""Rude clients by the kind of their rudeness: `python -m ops.drills.rude_clients PORT KIND SECONDS`.

It prints how many rounds were done, and how many connections were held at most. It is a process of its own, so that the
good client's clock does not wait for it. The tests use `under`, which does the same in threads of their process.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from api.server.connections import allow_connections

RUDE = "127.0.0.2"
_POST = b"POST /correct HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
_NOWHERE = b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n"
_BODY_BYTES = 262_000  # a little less than a body may have
_NUM_HELD = 800  # connections that an attacker of the drill holds, 3,200 in all
_ROUND_S = 0.1
_NUM_NEW = 8  # connections that an attacker of the drill opens in a round, of those that are missing
_BYTE_EVERY = 50  # rounds: a byte in five seconds keeps a connection from being idle


@dataclass(frozen=True, slots=True)
class Attack:
    """A round sends each of `data` on a connection of its own and reads the first bytes of the answer; or it holds
    connections that begin with one of them and then send a byte now and then.

    In the drill what costs time is judged by the slowest answer of a good client, what holds places by its p99.
    """

    data: tuple[bytes, ...]
    holds: bool = False
    dribble: bytes = b""
    pause_s: float = 0.0
    takes_time: bool = True
    replica: int = 0  # that is attacked; in calm it is always the first, whose log is a file


def _texts(*texts: str) -> Attack:
    """As long as a text may be or as a body may be."""
    bodies = [json.dumps({"sentence": text}, ensure_ascii=False).encode()[:_BODY_BYTES] for text in texts]
    return Attack(tuple(_POST + b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies))


ATTACKS = {
    "marks": _texts("!\n" * 20_000, "A " + "!\n" * 19_990, ".:) " * 10_000, "\u201c" * 80_000),
    "blanks": _texts("\n\n_" * 13_000 + " Go.", "Go." + "\u3000" * 39_970 + "Go.", " " * 262_000),
    "huge-words": _texts("a" * 39_990, "a" * 262_000, "a\u0301" * 60_000, "\u200b".join("a" * 19_990)),
    "small-chunks": Attack(
        (_POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * _BODY_BYTES + b"0\r\n\r\n",)
    ),
    "many-lines": Attack(
        (_POST + b"Content-Length: 2\r\n" + (b"Accept: " + b"a/b;q=0.5," * 90 + b"\r\n") * 30 + b"\r\n{}",)
    ),
    "long-heads": Attack((_POST + (b"Accept: " + b"a/b;q=0.5," * 800 + b"\r\n") * 90,)),
    "declared-bodies": Attack((_POST + b"Content-Length: 10000000\r\n\r\n",), takes_time=False),
    "endless-heads": Attack((b"GET /nowhere HTTP/1.1\r\nX-Y: ",), holds=True, takes_time=False, dribble=b"y"),
    "endless-bodies": Attack((_POST + b"Content-Length: 1000\r\n\r\n",), holds=True, takes_time=False, dribble=b"y"),
    "idle-connections": Attack(
        (b"", _NOWHERE), holds=True, takes_time=False
    ),  # half of them have asked something before
    "unknown-paths": Attack((_NOWHERE,), pause_s=_ROUND_S / 5, takes_time=False, replica=1),  # each is a line in a log
}


@dataclass(slots=True)
class Attacker:
    """Holds `num_held` connections, and opens at most `num_new` of them in a round."""

    port: int
    num_held: int
    num_new: int
    held: list[socket.socket] = field(default_factory=list)
    most_held: int = 0
    round: int = 0

    def attack(self, attack: Attack) -> None:
        """One round."""
        with suppress(OSError):  # refused, cut off, reset: what it came for
            if attack.holds:
                self._hold(attack.data[self.round % len(attack.data)], attack.dribble)
            for data in () if attack.holds else attack.data:
                with self._connect() as client:
                    client.sendall(data)
                    client.recv(65_536)
            time.sleep(attack.pause_s)
        self.round += 1

    def _connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30, source_address=(RUDE, 0))

    def _hold(self, data: bytes, dribble: bytes) -> None:
        with suppress(OSError):  # refused: another round will do
            for _ in range(min(self.num_new, self.num_held - len(self.held))):
                self.held.append(self._connect())
                self.held[-1].sendall(data)
        for client in self.held[self.round % _BYTE_EVERY :: _BYTE_EVERY]:
            client.setblocking(False)
            try:
                client.sendall(dribble)
                if not client.recv(65_536):
                    raise ConnectionResetError
            except BlockingIOError:
                continue  # nothing has come: it still stands
            except OSError:
                self.held.remove(client)
                client.close()
        self.most_held = max(self.most_held, len(self.held))
        time.sleep(_ROUND_S)  # a rude client's own pace


@contextmanager
def under(
    attack: Attack, port: int, num_attackers: int = 4, num_held: int = 200, num_new: int = 200
) -> Iterator[list[Attacker]]:
    """Attack until the end of the block; yields the attackers, who count their rounds."""
    stop = threading.Event()
    attackers = [Attacker(port, num_held, num_new) for _ in range(num_attackers)]

    def run(rude: Attacker) -> None:
        while not stop.is_set():
            rude.attack(attack)
        for client in rude.held:
            client.close()

    threads = [threading.Thread(target=run, args=(rude,)) for rude in attackers]
    for thread in threads:
        thread.start()
    try:
        yield attackers
    finally:
        stop.set()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    allow_connections(4 * _NUM_HELD)
    with under(ATTACKS[sys.argv[2]], int(sys.argv[1]), 4, _NUM_HELD, _NUM_NEW) as rude_ones:
        time.sleep(float(sys.argv[3]))
    print(sum(rude.round for rude in rude_ones), sum(rude.most_held for rude in rude_ones))
