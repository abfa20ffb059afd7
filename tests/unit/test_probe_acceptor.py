"""The acceptor by itself: whom it admits, whom it refuses, which connection makes room."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from api.server.application import bind
from api.server.probe_acceptor import ProbeAcceptor
from api.service.readiness import Readiness
from worker.mailbox.protocol import MailboxStatus

POST = b"POST /correct HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
Refuse = Callable[[bytes], bytes]
HEALTHZ = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def refuse(*_: Any) -> Refuse:
    return lambda _: b"HTTP/1.1 503 X\r\nContent-Length: 2\r\n\r\n}\n"


def reply(path: str, keeps_alive: bool) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@contextmanager
def an_acceptor(
    admit: Callable[[int, Any], Refuse | None], max_idle: int = 8, keep_alive_s: float = 75
) -> Iterator[Callable[..., socket.socket]]:
    """How to connect to it, from an address."""
    listener = bind("127.0.0.1", 0)
    acceptor = ProbeAcceptor(
        [listener],
        Readiness(lambda: MailboxStatus(redis_ok=True, live_workers=1)),
        reply,
        admit,
        (max_idle, keep_alive_s),
    )
    thread = threading.Thread(target=acceptor.run)
    thread.start()
    try:
        yield lambda host="127.0.0.1": socket.create_connection(listener.getsockname(), 10, (host, 0))
    finally:
        acceptor.close()
        listener.close()
        thread.join()


def test_a_connection_over_the_limit_is_refused_and_told_when_to_come_back() -> None:
    with an_acceptor(refuse) as connect, connect() as client:
        client.sendall(POST)
        said = b"".join(iter(lambda: client.recv(4096), b""))

    assert said.startswith(b"HTTP/1.1 503 ") and said.endswith(b"}\n")


@pytest.mark.parametrize("first", [b"", HEALTHZ], ids=["opened in advance", "asked for a probe only"])
def test_an_idle_connection_is_closed_when_its_time_is_over_and_not_before(first: bytes) -> None:
    with an_acceptor(refuse, keep_alive_s=0.3) as connect, connect() as client:
        opened_s = time.monotonic()
        client.sendall(first)
        said = b"".join(iter(lambda: client.recv(4096), b""))

        assert said.count(b"200 OK") == bool(first)
        assert time.monotonic() - opened_s >= 0.3  # later on a busy machine, and never earlier


def test_a_connection_that_is_admitted_is_not_the_acceptors_any_more() -> None:
    admitted: list[socket.socket] = []

    def admit(descriptor: int, _: Any) -> None:
        admitted.append(socket.socket(fileno=descriptor))

    with an_acceptor(admit) as connect, connect() as client:
        client.sendall(POST)
        client.settimeout(0.3)
        try:
            said = client.recv(1)
        except TimeoutError:
            said = b"nothing"
        ((connection),) = admitted
        assert (connection.recv(100), said) == (POST, b"nothing")
        connection.close()


def test_the_connection_that_is_idle_for_longest_makes_room() -> None:
    acceptor = an_acceptor(refuse, max_idle=2)
    with acceptor as connect, connect() as first, connect() as second, connect() as third:
        assert first.recv(1) == b""
        for client in (second, third):
            client.sendall(HEALTHZ)
            assert client.recv(4096).startswith(b"HTTP/1.1 200 ")


def test_who_opens_one_more_makes_room_with_a_connection_of_its_own() -> None:
    acceptor = an_acceptor(refuse, max_idle=2)
    with acceptor as connect, connect("127.0.0.3") as good, connect() as first, connect() as second:
        assert first.recv(1) == b""
        for client in (good, second):
            client.sendall(HEALTHZ)
            assert client.recv(4096).startswith(b"HTTP/1.1 200 ")


def test_a_connection_not_yet_accepted_at_the_end_gets_a_503_and_is_not_reset() -> None:
    listener = bind("127.0.0.1", 0)
    ready = Readiness(lambda: MailboxStatus(redis_ok=True))
    acceptor = ProbeAcceptor([listener], ready, reply, refuse, (8, 75))

    with socket.create_connection(listener.getsockname()) as client:
        client.sendall(POST)
        acceptor.close()  # no turn was made: nobody has taken the connection yet
        listener.close()
        said = b"".join(iter(lambda: client.recv(4096), b""))

    assert said.startswith(b"HTTP/1.1 503 ") and said.endswith(b"}\n")
