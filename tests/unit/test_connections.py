"""The connections of a process: what a client may send, how long each part may take, and which one makes room."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from api.http.incoming import IncomingRequest
from api.http.replies import Reply
from api.server import connection as protocol
from api.server.application import bind
from api.server.connection import Connection
from api.server.connections import Places, Shared
from scheduler.errors import ServingError
from tests.mailbox_house import eventually

MAX_BODY_BYTES = 1024
HEALTHZ = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"


class Site:
    """A server whose requests are answered when the whole body is there, or no more of it can come."""

    def __init__(self) -> None:
        self.places = Places(4096, "")
        self.shared = Shared(self.places, self._begin, MAX_BODY_BYTES, 75.0)
        self.is_held = self.are_scarce = False
        self.num_looks = self.num_requests = self.num_ended = 0

    def _begin(self, request: IncomingRequest) -> None:
        self.num_requests += 1
        asyncio.get_running_loop().create_task(self._answer(request))

    async def _answer(self, request: IncomingRequest) -> None:
        status, size = 200, 0
        try:
            size = len(await request.read_body(1 << 30))
        except ServingError as error:
            status = error.status
        while self.is_held and not request.link.is_lost:
            await asyncio.sleep(0.01)
        answer = b"%d bytes" % size
        length = ("Content-Length", str(len(answer)))
        names = ("X-Names", " ".join(sorted(request.headers)))
        request.link.respond(request, Reply(answer, status, [length, names]))
        self.num_ended += 1

    async def serve(self, listener: socket.socket) -> None:
        self.loop, self.stopped = asyncio.get_running_loop(), asyncio.Event()

        def connect() -> Connection:
            self.places.take("127.0.0.1")
            return Connection(self.shared, "127.0.0.1", False)

        async with await self.loop.create_server(connect, sock=listener):
            while not self.stopped.is_set():
                for connection in self.all():
                    self.num_looks += 1
                    connection.look(self.loop.time(), self.are_scarce)
                await asyncio.sleep(0.02)

    def all(self) -> list[Connection]:
        return list(self.shared.open)


Connect = Callable[..., socket.socket]


@pytest.fixture
def site() -> Iterator[Site]:
    site, listener = Site(), bind("127.0.0.1", 0)
    site.address = listener.getsockname()
    thread = threading.Thread(target=asyncio.run, args=(site.serve(listener),))
    thread.start()
    yield site
    eventually(lambda: hasattr(site, "stopped"))
    site.loop.call_soon_threadsafe(site.stopped.set)
    thread.join()


@pytest.fixture
def connect(site: Site) -> Iterator[Connect]:
    with ExitStack() as stack:

        def to_it(host: str = "127.0.0.1") -> socket.socket:
            return stack.enter_context(socket.create_connection(site.address, 30, (host, 0)))

        yield to_it


def read_all(client: socket.socket) -> bytes:
    return b"".join(iter(lambda: client.recv(4096), b""))


def is_let_go(client: socket.socket) -> bool:
    """Although it sends now and then."""
    try:
        client.send(b"E")
        return client.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_a_head_that_never_ends_is_let_go(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_S", 0.2)
    client = connect()
    client.sendall(b"GET / HTTP/1.1\r\nX: ")
    client.setblocking(False)

    assert eventually(lambda: is_let_go(client))


def test_a_connection_that_sends_nothing_is_closed_when_its_time_is_over(connect: Connect, site: Site) -> None:
    site.shared.keep_alive_s = 0.2

    assert connect().recv(1) == b""


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nX: ", HEALTHZ], ids=["silent", "in a head", "idle again"])
def test_where_connections_are_scarce_those_that_send_no_request_are_closed_early(
    connect: Connect, site: Site, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(protocol, "SCARCE_S", 0.2)
    client = connect()
    client.sendall(begun)
    answered = b""
    while begun == HEALTHZ and not answered.endswith(b"0 bytes"):
        answered += client.recv(4096)

    site.are_scarce = True

    assert answered.startswith(b"HTTP/1.1 200 ") is (begun == HEALTHZ)
    assert read_all(client) == b""


def test_where_connections_are_scarce_who_waits_for_an_answer_gets_it(
    connect: Connect, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "SCARCE_S", 0.0)
    site.is_held = site.are_scarce = True
    client = connect()
    client.sendall(POST % 2 + b"{}")
    eventually(lambda: site.num_requests == 1)
    num_looks = site.num_looks

    eventually(lambda: site.num_looks > num_looks + 3)
    site.is_held = False

    assert client.recv(4096).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("line", [b"Upgrade: h2c", b"upgrade: h2c", b"UPGRADE: h2c", b"upGrade: h2c"], ids=bytes.decode)
@pytest.mark.parametrize("num_bytes_first", [0, 1, 5, 9, 37])
def test_a_request_that_offers_an_upgrade_keeps_its_body_wherever_its_packet_ends(
    connect: Connect, site: Site, line: bytes, num_bytes_first: int
) -> None:
    """Java's HttpClient offers h2c with each request; httptools would take what follows for another protocol."""
    client = connect()
    head, rest = (
        b"POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade",
        b"\r\n" + line + b"\r\nContent-Length: 14\r\n\r\n",
    )
    client.sendall(head + rest[:num_bytes_first])
    num_looks = site.num_looks
    eventually(lambda: site.num_looks > num_looks + 1)  # what has come is read
    client.sendall(rest[num_bytes_first:] + b"\r\nUpgrade: h2c")
    client.shutdown(socket.SHUT_WR)

    assert read_all(client).endswith(b"14 bytes")


@pytest.mark.parametrize(
    ("more", "names"),
    [
        (b"X_Forwarded_For: 192.0.2.1\r\nConnection: close\r\n\r\n", b"connection host x_forwarded_for"),
        (b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n", b"host transfer-encoding"),
    ],
    ids=["an underscore", "behind a chunked body"],
)  # fmt: skip
def test_no_header_is_taken_for_another(connect: Connect, more: bytes, names: bytes) -> None:
    client = connect()
    client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n" + more)
    client.shutdown(socket.SHUT_WR)

    assert b"x-names: " + names + b"\r\n" in read_all(client)


def test_a_body_whose_client_closes_before_its_end_is_known_to_be_cut(connect: Connect) -> None:
    client = connect()
    client.sendall(POST % 10 + b"{}")
    client.shutdown(socket.SHUT_WR)

    assert read_all(client).startswith(b"HTTP/1.1 400 ")


def test_answers_to_pipelined_requests_of_a_client_that_left_are_dropped(
    connect: Connect, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.is_held = True
    client = connect()
    client.sendall(HEALTHZ * 3)
    eventually(lambda: site.num_requests == 1)

    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    site.is_held = False

    eventually(lambda: site.all() == [])
    eventually(lambda: site.num_requests == site.num_ended)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_each_of_several_requests_at_once_is_answered_in_order(connect: Connect) -> None:
    offer = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: %d\r\n\r\n"
    client = connect()
    client.sendall(POST % 2 + b"{}" + offer % 3 + b"abc" + POST % 4 + b"abcd" + HEALTHZ)
    client.shutdown(socket.SHUT_WR)

    answers = read_all(client)

    assert answers.count(b"HTTP/1.1 200 ") == 4
    sizes = [answers.index(b"%d bytes" % size) for size in (2, 3, 4, 0)]
    assert sizes == sorted(sizes)


def test_more_requests_at_once_than_a_client_may_send_end_the_connection(connect: Connect, site: Site) -> None:
    client = connect()
    client.sendall(HEALTHZ * (protocol.MAX_PIPELINED + 1))

    answers = read_all(client)

    assert answers.count(b"HTTP/1.1 200 ") == protocol.MAX_PIPELINED
    assert answers.count(b"HTTP/1.1 400 ") == 1
