"""The door by itself: whom it lets in, whom it refuses, who makes room."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from api.door import Door
from api.readiness import Readiness
from api.wsgi import bind
from worker.mailbox.protocol import MailboxStatus

POST = b"POST /correct HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
HEALTHZ = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@contextmanager
def an_open_door(admit: Callable[[int, Any], bool], most_silent: int = 8) -> Iterator[Callable[[], socket.socket]]:
    """How to connect to it."""
    listener = bind("127.0.0.1", 0)
    door = Door([listener], Readiness(lambda: MailboxStatus(redis_ok=True, live_workers=1)), admit, most_silent)
    thread = threading.Thread(target=door.run)
    thread.start()
    try:
        yield lambda: socket.create_connection(listener.getsockname(), timeout=10)
    finally:
        door.close()
        listener.close()
        thread.join()


def test_who_finds_no_place_is_told_so_and_when_to_come_back() -> None:
    with an_open_door(lambda *_: False) as connect, connect() as client:
        client.sendall(POST)
        reply = b"".join(iter(lambda: client.recv(4096), b""))

    head, _, body = reply.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"Retry-After: 1" in head
    assert b"urn:miniserve:problem:queue-full" in body


def test_a_connection_that_is_admitted_is_not_the_doors_any_more() -> None:
    admitted: list[socket.socket] = []

    def admit(descriptor: int, _: Any) -> bool:
        admitted.append(socket.socket(fileno=descriptor))
        return True

    with an_open_door(admit) as connect, connect() as client:
        client.sendall(POST)
        client.settimeout(0.3)
        try:
            said = client.recv(1)
        except TimeoutError:
            said = b"nothing"
        ((connection),) = admitted
        assert (connection.recv(100), said) == (POST, b"nothing")
        connection.close()


def test_the_one_that_is_silent_for_longest_makes_room() -> None:
    an_open = an_open_door(lambda *_: False, most_silent=2)
    with an_open as connect, connect() as first, connect() as second, connect() as third:
        assert first.recv(1) == b""
        for client in (second, third):
            client.sendall(HEALTHZ)
            assert client.recv(4096).startswith(b"HTTP/1.1 200 ")


def test_who_knocks_just_before_the_door_closes_is_told_and_not_cut_off() -> None:
    listener = bind("127.0.0.1", 0)
    door = Door([listener], Readiness(lambda: MailboxStatus(redis_ok=True)), lambda *_: True, most_silent=8)

    with socket.create_connection(listener.getsockname(), timeout=10) as client:
        client.sendall(POST)
        door.close()  # no turn was made: nobody has taken the connection yet
        listener.close()
        reply = b"".join(iter(lambda: client.recv(4096), b""))

    assert reply.startswith(b"HTTP/1.1 503 ")
    assert b"urn:miniserve:problem:shutting-down" in reply
