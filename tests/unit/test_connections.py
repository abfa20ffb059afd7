"""The connections of a process: what a client may send, how long each part may take, and which one makes room."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn

from api.server import protocol
from api.server.application import bind
from api.server.connections import Places
from api.server.protocol import BoundedConnection
from scheduler.errors import ServingError
from tests.mailbox_house import eventually

MAX_BODY_BYTES = 1024
HEALTHZ = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"


class Limits(SimpleNamespace):
    """What a server tells its connections."""

    max_body_bytes = MAX_BODY_BYTES
    keep_alive_s = 75.0
    is_stopping = are_scarce = False

    def refusal(self, error: ServingError) -> bytes:
        return b"HTTP/1.1 %d X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % error.status


class Site:
    """An application that answers when the whole body is there, or no more of it can come."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.is_held = False
        self.num_looks = self.num_requests = self.num_ended = 0

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            scope["state"] |= {"limits": self.limits}
            self.looking = asyncio.get_running_loop().create_task(self._look())
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        self.num_requests += 1
        connection = scope["state"]["connection"]
        more, size = True, 0
        while more and not connection.is_cut:
            message = await receive()
            more, size = message.get("more_body", False), size + len(message.get("body", b""))
        while self.is_held and not connection.has_left():
            await asyncio.sleep(0.01)
        status = 413 if connection.is_too_long else 400 if connection.is_cut and more else 200
        answer = b"%d bytes" % size
        headers = [(b"content-length", b"%d" % len(answer)), (b"x-num-headers", b"%d" % len(scope["headers"]))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": answer})
        self.num_ended += 1

    async def _look(self) -> None:
        while True:
            for connection in self.all():
                self.num_looks += 1
                connection.look(asyncio.get_running_loop().time(), self.limits.are_scarce)
            await asyncio.sleep(0.02)

    def all(self) -> list[BoundedConnection]:
        return list(self.server.server_state.connections)


class Known(BoundedConnection):
    """Of a client that the acceptor has seen."""

    address = "127.0.0.1"


Connect = Callable[..., socket.socket]


@pytest.fixture
def site() -> Iterator[Site]:
    site, listener = Site(Limits(places=Places(4096, ""))), bind("127.0.0.1", 0)
    config = uvicorn.Config(site, http=Known, ws="none", lifespan="on", log_config=None, proxy_headers=False)
    server = site.server = uvicorn.Server(config)
    site.address = listener.getsockname()
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    eventually(lambda: server.started)
    yield site
    server.should_exit = server.force_exit = True
    thread.join()


@pytest.fixture
def connect(site: Site) -> Iterator[Connect]:
    with ExitStack() as stack:

        def to_it(host: str = "127.0.0.1") -> socket.socket:
            return stack.enter_context(socket.create_connection(site.address, 30, (host, 0)))

        yield to_it


def read_all(client: socket.socket) -> bytes:
    return b"".join(iter(lambda: client.recv(4096), b""))


def test_a_head_that_never_ends_is_let_go_although_its_client_sends_now_and_then(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEAD_S", 0.2)
    client = connect()
    client.sendall(b"GET / HTTP/1.1\r\nX: ")
    is_over = threading.Event()

    def dribble() -> None:
        try:
            while not is_over.wait(0.02):
                client.send(b"E")
        except OSError:
            pass

    other = threading.Thread(target=dribble)
    other.start()
    try:
        assert client.recv(1) == b""
    except ConnectionResetError:
        pass
    finally:
        is_over.set()
        other.join()


def test_a_connection_that_sends_nothing_is_closed_when_its_time_is_over(connect: Connect, site: Site) -> None:
    site.limits.keep_alive_s = 0.2

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

    site.limits.are_scarce = True

    assert answered.startswith(b"HTTP/1.1 200 ") is (begun == HEALTHZ)
    assert read_all(client) == b""


def test_where_connections_are_scarce_who_waits_for_an_answer_gets_it(
    connect: Connect, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "SCARCE_S", 0.0)
    site.is_held = site.limits.are_scarce = True
    client = connect()
    client.sendall(POST % 2 + b"{}")
    eventually(lambda: [connection.is_open for connection in site.all()] == [True])
    num_looks = site.num_looks

    eventually(lambda: site.num_looks > num_looks + 3)
    site.is_held = False

    assert client.recv(4096).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * protocol.MAX_HEAD_BYTES, b"400"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 30_000, b"413"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 10_500, b"413"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", b"400"),
    ],
    ids=["a long head", "no head", "a long body", "many chunks", "a broken body"],
)
def test_head_and_body_have_a_bound_each_and_who_sends_on_is_answered(
    connect: Connect, request_bytes: bytes, status: bytes
) -> None:
    client = connect()
    client.sendall(request_bytes)

    assert read_all(client).startswith(b"HTTP/1.1 " + status)


@pytest.mark.parametrize("name", [b"Upgrade", b"upgrade", b"UPGRADE", b"upGrade"])
def test_a_request_that_offers_an_upgrade_keeps_its_body(connect: Connect, name: bytes) -> None:
    """Java's HttpClient offers h2c with each request; httptools would take what follows for another protocol."""
    body = b"\r\nUpgrade: h2c"
    client = connect()

    for _ in range(2):
        client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\n" + name + b": h2c\r\n")
        client.sendall(b"HTTP2-Settings: AAEAAEAAAAIAAAAB\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

        assert next(part for part in iter(lambda: client.recv(4096), b"") if b"bytes" in part).endswith(b"14 bytes")


@pytest.mark.parametrize("cut", [b"\r", b"\r\nUpg", b"\r\nUpgrade", b"\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r"])
def test_an_offer_of_an_upgrade_is_seen_wherever_its_packet_ends(connect: Connect, site: Site, cut: bytes) -> None:
    client = connect()
    head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade"
    request = head + b"\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\n{}"
    client.sendall(head + cut)
    num_looks = site.num_looks
    eventually(lambda: site.num_looks > num_looks + 1)  # what has come is read
    client.sendall(request[len(head + cut) :])
    client.shutdown(socket.SHUT_WR)

    assert read_all(client).startswith(b"HTTP/1.1 200 ")


def test_what_follows_a_chunked_body_is_no_header_of_the_request(connect: Connect) -> None:
    client = connect()
    client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    client.sendall(b"2\r\n{}\r\n0\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n")

    assert b"x-num-headers: 2\r\n" in next(part for part in iter(lambda: client.recv(4096), b"") if b"bytes" in part)


def test_a_client_that_has_closed_its_sending_side_is_answered_and_then_let_go(connect: Connect) -> None:
    client = connect()
    client.sendall(POST % 2 + b"{}")
    client.shutdown(socket.SHUT_WR)

    assert read_all(client).startswith(b"HTTP/1.1 200 ")


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


def test_a_place_is_given_back_with_its_connection(connect: Connect, site: Site) -> None:
    client = connect()
    client.sendall(POST % 2 + b"{}")
    assert client.recv(4096)
    assert len(site.all()) == 1

    client.close()

    eventually(lambda: site.all() == [])
    assert site.limits.places.num_taken == -1  # the acceptor, which takes them, is not here
