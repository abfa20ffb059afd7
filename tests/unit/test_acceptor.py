"""The acceptor by itself: whom it hands over, whom it refuses, and what becomes of those it has not come to."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from api.server.acceptor import Acceptor
from api.server.application import bind
from tests.mailbox_house import eventually

POST = b"POST /correct HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
REFUSAL = b"HTTP/1.1 503 X\r\nContent-Length: 2\r\n\r\n}\n"
Admit = Callable[[socket.socket, str], Callable[[bytes], bytes] | None]


def refuse(*_: object) -> Callable[[bytes], bytes]:
    return lambda head: REFUSAL


@contextmanager
def an_acceptor(admit: Admit, listener: object = None) -> Iterator[Callable[[], socket.socket]]:
    """How to connect to it."""
    listener = listener or bind("127.0.0.1", 0)
    loop = asyncio.new_event_loop()
    acceptor = Acceptor(loop, [listener], admit)
    address = listener.getsockname()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield lambda: socket.create_connection(address, 10)
    finally:
        loop.call_soon_threadsafe(acceptor.close, refuse())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def read_all(client: socket.socket) -> bytes:
    return b"".join(iter(lambda: client.recv(4096), b""))


def test_who_is_refused_reads_why_although_its_request_is_unread() -> None:
    with an_acceptor(refuse) as connect, connect() as client:
        client.sendall(POST)

        assert read_all(client) in (REFUSAL, b"")  # b"": refused before it had sent anything
        assert client.recv(1) == b""


def test_all_that_wait_are_handed_over_with_the_addresses_of_their_clients() -> None:
    admitted: list[tuple[socket.socket, str]] = []
    with an_acceptor(lambda *taken: admitted.append(taken)) as connect:
        clients = [connect() for _ in range(200)]
        eventually(lambda: len(admitted) == 200)

        clients[0].sendall(POST)
        assert {address for _, address in admitted} == {"127.0.0.1"}
        for connection, _ in admitted:
            connection.close()
        for client in clients:
            client.close()


def test_connections_are_taken_again_after_no_file_could_be_opened() -> None:
    class Exhausted:
        """A listener whose process has no file left, twice."""

        def __init__(self) -> None:
            self._listener = bind("127.0.0.1", 0)
            self.num_failures = 0
            self.getsockname, self.fileno = self._listener.getsockname, self._listener.fileno
            self.setblocking, self.close = self._listener.setblocking, self._listener.close

        def accept(self) -> tuple[socket.socket, object]:
            if self.num_failures < 2:
                self.num_failures += 1
                raise OSError(errno.EMFILE, "too many open files")
            return self._listener.accept()

    listener = Exhausted()
    with an_acceptor(refuse, listener) as connect, connect() as client:
        assert read_all(client) in (REFUSAL, b"")
    assert listener.num_failures == 2


def test_a_connection_not_yet_accepted_at_the_end_gets_a_503_and_is_not_reset() -> None:
    listener, loop = bind("127.0.0.1", 0), asyncio.new_event_loop()
    acceptor = Acceptor(loop, [listener], refuse)

    with socket.create_connection(listener.getsockname()) as client:
        client.sendall(POST)
        acceptor.close(refuse())  # the loop has not run: nobody has taken the connection yet
        said = read_all(client)
    loop.close()

    assert said == REFUSAL
