"""Rude clients by the kind of their rudeness: `python -m ops.drills.rude_clients PORT KIND SECONDS`.

It prints how many rounds were done, and how many connections were held at most. It is a process of its own, so that the
good client's clock does not wait for it.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from api.server.connections import allow_connections

RUDE = "127.0.0.2"
_POST = b"POST /correct HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
_NOWHERE = b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n"
_BODY_BYTES = 262_000  # a little less than a body may have
_NUM_ATTACKERS = 4
_NUM_HELD = 800  # connections that an attacker holds, 3,200 in all
_ROUND_S = 0.1
_NUM_NEW = 8  # connections that an attacker opens in a round, of those that are missing
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


def _attack(attack: Attack, port: int, end_s: float) -> tuple[int, int]:
    """One attacker, until then: rounds, and connections held at most."""
    held: list[socket.socket] = []
    num_rounds = most_held = 0
    while time.monotonic() < end_s:
        with suppress(OSError):  # refused, cut off, reset: what it came for
            if attack.holds:
                _hold(held, attack.data[num_rounds % len(attack.data)], attack.dribble, port, num_rounds % _BYTE_EVERY)
            for data in () if attack.holds else attack.data:
                with _connect(port) as client:
                    client.sendall(data)
                    client.recv(65_536)
            time.sleep(attack.pause_s)
        num_rounds, most_held = num_rounds + 1, max(most_held, len(held))
    for client in held:
        client.close()
    return num_rounds, most_held


def _connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(RUDE, 0))


def _hold(held: list[socket.socket], data: bytes, dribble: bytes, port: int, first: int) -> None:
    """Open some of the connections that are missing, and send a byte on every fiftieth."""
    with suppress(OSError):  # refused: another round will do
        for _ in range(min(_NUM_NEW, _NUM_HELD - len(held))):
            held.append(_connect(port))
            held[-1].sendall(data)
    for client in held[first::_BYTE_EVERY]:
        client.setblocking(False)
        try:
            client.sendall(dribble)
            if not client.recv(65_536):
                raise ConnectionResetError
        except BlockingIOError:
            continue  # nothing has come: it still stands
        except OSError:
            held.remove(client)
            client.close()
    time.sleep(_ROUND_S)  # a rude client's own pace


if __name__ == "__main__":
    allow_connections(_NUM_ATTACKERS * _NUM_HELD)
    attack = partial(_attack, ATTACKS[sys.argv[2]], int(sys.argv[1]), time.monotonic() + float(sys.argv[3]))
    with ThreadPoolExecutor(_NUM_ATTACKERS) as pool:
        attackers = [pool.submit(attack) for _ in range(_NUM_ATTACKERS)]
    print(*map(sum, zip(*(one.result() for one in attackers), strict=True)))
